// SPDX-License-Identifier: Apache-2.0
// Tests of .nib files: models come back whole, and files that contradict themselves are refused.
#include "nibble/graph/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "core/hash.h"
#include "core/test_corpus.h"
#include "core/warning.h"
#include "graph/graph_test_support.h"
#include "nibble/core/safetensors.h"

namespace nibble::inline graph {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

Network small() {
  Network network =
      chain({4, 4, 2}, {Conv2d{.channels = 3}, BatchNorm{}, Relu{}, Flatten{},
                        Linear{.features = 2, .has_bias = true}, SoftmaxCrossEntropy{}});
  network.class_names = {"yes", "nö"};
  network.nodes[1].weight = {.format = parse_format("e4m3")};
  return network;
}

class NibFile : public testing::Test {
 protected:
  void SetUp() override { write_model(path_, counted_model(small()), {{"recipe", "\"x\""}}); }
  void TearDown() override { fs::remove(path_); }

  static std::string error_of_bytes(const std::string& bytes) {
    return error_of([&] { parse_model(std::as_bytes(std::span(bytes)), "x.nib"); });
  }
  // The error of the file after a change of its content.
  std::string error_after(const std::function<void(Safetensors&)>& change) const {
    Safetensors file = read_safetensors(path_);
    change(file);
    std::ostringstream out;
    write_safetensors(out, file.metadata, views_of(file.tensors));
    return error_of_bytes(out.str());
  }
  // The same without content_hash, as older versions wrote it.
  std::string error_with(const std::function<void(Safetensors&)>& change) const {
    return error_after([&](Safetensors& file) {
      file.metadata.erase("content_hash");
      change(file);
    });
  }

  const fs::path path_ =
      fs::temp_directory_path() / ("nibble_model_test_" + std::to_string(::getpid()) + ".nib");
};

TEST_F(NibFile, ComesBackWhole) {
  const Model model = counted_model(small());
  const ModelFile back = read_model(path_);
  EXPECT_EQ(back.model.network, model.network);
  EXPECT_EQ(back.origin, (Origin{{"recipe", "\"x\""}}));
  ASSERT_EQ(back.model.parameters.size(), model.parameters.size());
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const Tensor& got = back.model.parameters[i];
    EXPECT_EQ(got.shape(), model.parameters[i].shape());
    EXPECT_EQ(std::memcmp(got.data(), model.parameters[i].data(), got.bytes()), 0);
  }
  EXPECT_EQ(weights_hash(back.model), weights_hash(model));
}

TEST_F(NibFile, IsASafetensorsFileWithMetadata) {
  const Safetensors file = read_safetensors(path_);
  EXPECT_EQ(file.metadata.at("nibble_format"), "1");
  EXPECT_EQ(file.metadata.at("weights_hash"), hex(weights_hash(counted_model(small()))));
  EXPECT_EQ(file.metadata.at("origin"), R"({"recipe":"\"x\""})");
  EXPECT_EQ(file.tensors.front().name, "n1.weight");
  EXPECT_EQ(file.tensors.front().tensor.shape(), (Shape{3, 3, 3, 2}));
}

TEST_F(NibFile, ChangedContentIsRefused) {
  EXPECT_EQ(error_with([](Safetensors&) {}), "no error");
  EXPECT_THAT(error_with([](Safetensors& f) { f.tensors[0].tensor.as<float>()[0] += 1; }),
              HasSubstr("x.nib: hash of the weights: got "));
  EXPECT_THAT(error_with([](Safetensors& f) { f.tensors.pop_back(); }),
              HasSubstr("tensor n5.bias: got nothing, expected one"));
  EXPECT_THAT(error_with([](Safetensors& f) {
                f.tensors.push_back({"more", Tensor(DType::u8, {0})});
              }),
              HasSubstr("tensor: got 'more', expected those of the network only"));
  EXPECT_THAT(error_with([](Safetensors& f) { f.tensors[0].tensor = Tensor(DType::f32, {3}); }),
              HasSubstr("shape of n1.weight: got (3,), expected (3, 3, 3, 2)"));
  EXPECT_EQ(error_with([](Safetensors& f) { std::swap(f.tensors[0], f.tensors[3]); }), "no error");
}

TEST_F(NibFile, NoBitOfTheFileCanFlip) {
  write_model(path_, counted_model(chain({3}, {Linear{.features = 2}})), {});
  std::ifstream in(path_, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  EXPECT_EQ(error_of_bytes(whole), "no error");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = whole;
      flipped[i] = static_cast<char>(flipped[i] ^ 1 << bit);
      ASSERT_NE(error_of_bytes(flipped), "no error") << "byte " << i << " bit " << bit;
    }
  }
}

TEST_F(NibFile, ANetworkThatWasChangedIsDamaged) {
  const auto change = [](Safetensors& f) {
    std::string& network = f.metadata["network"];
    network.replace(network.find("yes"), 3, "yet");
  };
  EXPECT_THAT(error_after(change), HasSubstr("x.nib is damaged: content_hash: got "));
  EXPECT_EQ(error_with(change), "no error") << "older files do not know";
}

TEST_F(NibFile, WithoutContentHashIsReadWithAWarning) {
  (void)take_warnings();
  EXPECT_TRUE(read_model(path_).has_content_hash);
  EXPECT_TRUE(take_warnings().empty());
  EXPECT_EQ(error_with([](Safetensors&) {}), "no error");
  EXPECT_THAT(take_warnings(), testing::ElementsAre(HasSubstr("x.nib has no content_hash")));
  EXPECT_EQ(error_with([](Safetensors& f) { f.metadata["contend_hash"] = "0"; }),
            "[read_model] x.nib: metadata: got 'contend_hash', expected nibble_format, network, "
            "weights_hash, content_hash, origin");
}

TEST_F(NibFile, MetadataIsChecked) {
  for (const char* key : {"nibble_format", "network", "weights_hash", "origin"}) {
    EXPECT_EQ(error_with([&](Safetensors& f) { f.metadata.erase(key); }),
              "[read_model] x.nib: metadata " + std::string(key) +
                  ": got nothing, expected a .nib model, which has it");
  }
  const auto with = [&](const char* key, const std::string& value) {
    return error_with([&](Safetensors& f) { f.metadata[key] = value; });
  };
  EXPECT_THAT(with("nibble_format", "2"), HasSubstr("got '2', expected '1'"));
  EXPECT_THAT(with("weights_hash", "0"), HasSubstr("hash of the weights"));
  EXPECT_THAT(with("network", "{"), HasSubstr("[network] x.nib: no JSON"));
  for (const char* origin : {"", "[]", "{", "3"}) {
    EXPECT_THAT(with("origin", origin), HasSubstr("metadata origin: ")) << origin;
  }
  EXPECT_THAT(with("origin", "{\"a\":1}"), HasSubstr("origin.a: got number, expected a string"));
  EXPECT_THAT(with("origin", std::string(2 << 20, '[')), HasSubstr("metadata origin"));
}

TEST_F(NibFile, ModelsThatDoNotFitAreNotWritten) {
  Model model = counted_model(small());
  model.parameters.pop_back();
  EXPECT_THROW(write_model(path_, model, {}), Error);
  EXPECT_EQ(read_model(path_).origin.size(), 1U);
}

TEST_F(NibFile, WordsOfItsOriginArePrintable) {
  write_model(path_, counted_model(small()), {{"quantized_from", "a\xFF\n\x1b[31m.onnx"}});
  EXPECT_EQ(read_model(path_).origin.at("quantized_from"), "a\xef\xbf\xbd \xef\xbf\xbd[31m.onnx");
  EXPECT_THAT(error_with([](Safetensors& f) { f.metadata["origin"] = R"({"a":"\u001b[31m"})"; }),
              HasSubstr("origin.a: got '\xef\xbf\xbd[31m', expected words without control"));
  EXPECT_THAT(error_with([](Safetensors& f) { f.metadata["origin"] = R"({"a\n":"b"})"; }),
              HasSubstr("origin.a : got 'b', expected words without control"));
}

TEST(NibCorpus, EveryFileIsReadOrRefusedAsItsNameSays) {
  for_each_corpus_file("model", 20, [](const fs::path& path, bool is_valid) {
    EXPECT_EQ(error_of([&] { read_model(path); }) == "no error", is_valid);
  });
}

}  // namespace
}  // namespace nibble::inline graph
