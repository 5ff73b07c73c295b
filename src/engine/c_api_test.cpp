// SPDX-License-Identifier: Apache-2.0
// Runs what c_api_test.c checks, alone and in several threads at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <future>
#include <thread>

#include "core/test_support.h"
#include "engine/engine_test_support.h"
#include "nibble.h"
#include "nibble/graph/model_file.h"

extern "C" const char* check_c_api(const char* path, const char* missing);
extern "C" const char* check_c_memory(const char* device, const char* path);

namespace nibble::inline engine {
namespace {

class CApi : public ::testing::Test {
 protected:
  void SetUp() override {
    NetworkMaker maker({4}, integers_format("int8"));
    maker.add(ArgMax{});
    write_model(path_, maker.model(), {});
  }

  TemporaryFolder folder_;
  std::string path_ = (folder_.path() / "made.nib").string();
  std::string missing_ = (folder_.path() / "missing.nib").string();
};

TEST_F(CApi, WorksFromC) {
  EXPECT_STREQ(check_c_api(path_.c_str(), missing_.c_str()), nullptr);
}

TEST_F(CApi, GivesMemory) {
  EXPECT_STREQ(check_c_memory("cpu", path_.c_str()), nullptr);
  EXPECT_STREQ(check_c_memory("check(cpu,reference)", path_.c_str()), nullptr);
}

TEST_F(CApi, HasLimits) {
  EXPECT_EQ(nibble_set_limits("nodes=1"), 0);
  EXPECT_EQ(nibble_load(path_.c_str(), 1, 1), nullptr);
  EXPECT_NE(std::string(nibble_last_error()).find("limit 'nodes'"), std::string::npos);
  EXPECT_EQ(nibble_set_limits("nodes=many"), -1);
  EXPECT_NE(std::string(nibble_last_error()).find("[limits] nodes: got 'many'"), std::string::npos);
  EXPECT_EQ(nibble_set_limits(nullptr), 0);
  nibble_engine* engine = nibble_load(path_.c_str(), 1, 1);
  EXPECT_NE(engine, nullptr);
  nibble_free(engine);
}

TEST_F(CApi, LoadsOnADevice) {
  nibble_engine* engine = nibble_load_on("check(cpu,reference)", path_.c_str(), 1, 1);
  ASSERT_NE(engine, nullptr) << nibble_last_error();
  const std::array<std::int8_t, 4> input{1, 5, -7, 5};
  std::int8_t answer = -1;
  EXPECT_EQ(nibble_run(engine, input.data(), 1, &answer), 0) << nibble_last_error();
  EXPECT_EQ(answer, 1);
  nibble_free(engine);
  EXPECT_EQ(nibble_load_on("gpu", path_.c_str(), 1, 1), nullptr);
  EXPECT_THAT(nibble_last_error(), testing::StartsWith("[device] name: got gpu"));
  EXPECT_EQ(nibble_load_on(nullptr, path_.c_str(), 1, 1), nullptr);
}

TEST_F(CApi, FreesAnEngineWhenABatchIsDone) {
  struct Freed {
    nibble_engine* engine;
    std::promise<bool> has_failed;
  } freed{nibble_load(path_.c_str(), 1, 1), {}};
  ASSERT_NE(freed.engine, nullptr) << nibble_last_error();
  const std::array<std::int8_t, 4> input{1, 5, -7, 5};
  std::int8_t answer = -1;
  const nibble_done done = [](void* context, const char* error) {
    auto* told = static_cast<Freed*>(context);
    nibble_free(told->engine);
    told->has_failed.set_value(error != nullptr);
  };
  EXPECT_EQ(nibble_submit(freed.engine, input.data(), 1, &answer, done, &freed), 0);
  EXPECT_FALSE(freed.has_failed.get_future().get());
  EXPECT_EQ(answer, 1);
}

TEST_F(CApi, KeepsErrorsOfThreadsApart) {
  std::array<const char*, 4> wrong{};
  std::vector<std::thread> threads;
  for (const char*& each : wrong) {
    threads.emplace_back([&] { each = check_c_api(path_.c_str(), missing_.c_str()); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char* each : wrong) EXPECT_STREQ(each, nullptr);
  std::string fresh = "not asked";
  std::thread([&] { fresh = nibble_last_error(); }).join();
  EXPECT_EQ(fresh, "");
}

TEST_F(CApi, ThreadsThatTheSystemRefusesAreAnErrorOfTheCall) {
  if (!kCanLimitMemory) GTEST_SKIP() << "sanitizers take more memory than a limit leaves";
  {
    const AddressSpaceLimit limit(100 << 20);
    EXPECT_EQ(nibble_load(path_.c_str(), 1, 1000), nullptr);
  }
  EXPECT_THAT(nibble_last_error(), testing::StartsWith("[engine] threads: got 1000"));
  nibble_engine* engine = nibble_load(path_.c_str(), 1, 2);
  ASSERT_NE(engine, nullptr) << nibble_last_error();
  nibble_free(engine);
}

}  // namespace
}  // namespace nibble::inline engine
