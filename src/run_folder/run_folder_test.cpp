// SPDX-License-Identifier: Apache-2.0
// Tests of the folder of a run: who may write into it, and what a crash or a full disk leaves.
#include "nibble/run_folder/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/test_support.h"
#include "run_folder/run_rows.h"

namespace nibble::inline run_folder {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RunFolderTest : public testing::Test {
 protected:
  std::string error(RunFolderMode mode) const {
    return error_of([&] { RunFolder(folder_.path(), mode); });
  }

  const TemporaryFolder folder_;
};

TEST_F(RunFolderTest, IsCreatedWithItsParents) {
  const RunFolder run(folder_.path() / "a/b", RunFolderMode::fresh);
  EXPECT_TRUE(fs::is_directory(folder_.path() / "a/b"));
  EXPECT_FALSE(holds_run(run.path()));
}

TEST_F(RunFolderTest, ThatHoldsARunIsRefused) {
  folder_.put("notes.txt", "mine");
  EXPECT_EQ(error(RunFolderMode::fresh), "no error");
  for (const char* name : {"settings.json", "epochs.csv", "events.out.tfevents.5.nibble"}) {
    folder_.put(name, "");
    EXPECT_TRUE(holds_run(folder_.path()));
    EXPECT_EQ(error(RunFolderMode::fresh),
              "[run] " + folder_.path().string() + " already holds a run (" + name +
                  "): --continue starts it again, for it has no checkpoint yet, --overwrite it or "
                  "name another folder");
    fs::remove(folder_.path() / name);
  }
  folder_.put("checkpoint.safetensors", "");
  EXPECT_THAT(error(RunFolderMode::fresh), HasSubstr("--resume it, --overwrite it or name"));
}

class OverwrittenRun : public RunFolderTest {
 protected:
  OverwrittenRun() {
    for (const char* name : {"settings.json", "epochs.csv", "model.nib", "best.nib", "notes.txt",
                             "events.out.tfevents.5.nibble", ".nibble-1-0.tmp"}) {
      folder_.put(name, "x");
    }
  }
  void expect_old() const {
    EXPECT_EQ(folder_.files(), 6);
    EXPECT_EQ(folder_.content_of("settings.json"), "x");
  }
  void expect_new() const {
    EXPECT_EQ(folder_.files(), 4);
    EXPECT_EQ(folder_.content_of("notes.txt"), "x");
    EXPECT_EQ(folder_.content_of("settings.json"), "{}\n");
    EXPECT_TRUE(holds_checkpoint(folder_.path()));
  }
  // A new run up to its first checkpoint.
  void begin(RunFolder& run) const {
    run.write_settings("{}");
    run.add_epoch({.epoch = 0});
    std::ofstream(run.checkpoint_path()) << "new";
  }
};

TEST_F(OverwrittenRun, IsKeptUntilTheNewOneHasACheckpoint) {
  RunFolder run(folder_.path(), RunFolderMode::overwrite);
  begin(run);
  EXPECT_TRUE(run.keeps_old_run());
  EXPECT_EQ(folder_.content_of("settings.json"), "x");
  run.replace_old_run();
  expect_new();
  EXPECT_EQ(run.path(), folder_.path());
  run.add_epoch({.epoch = 1});
  EXPECT_THAT(folder_.content_of("epochs.csv"), HasSubstr("\n1,"));
  run.replace_old_run();
  EXPECT_EQ(folder_.files(), 4);
}

TEST_F(OverwrittenRun, StaysWhereTheNewOneFails) {
  {
    RunFolder run(folder_.path(), RunFolderMode::overwrite);
    begin(run);
  }
  expect_old();
}

TEST_F(OverwrittenRun, IsOldOrNewWhereverTheProcessWasKilled) {
  const fs::path next = folder_.path() / ".nibble-next";
  const auto put_next = [&](const std::string& name) {
    folder_.put(name + "/settings.json", "{}\n");
    folder_.put(name + "/epochs.csv", "");
    folder_.put(name + "/checkpoint.safetensors", "");
  };
  put_next(".nibble-next");
  EXPECT_THAT(error(RunFolderMode::fresh), HasSubstr("already holds a run"));
  EXPECT_FALSE(fs::exists(next));
  EXPECT_EQ(folder_.content_of("settings.json"), "x");

  put_next(".nibble-next-whole");
  fs::remove(folder_.path() / "model.nib");  // some of the old files are gone
  fs::remove(folder_.path() / ".nibble-1-0.tmp");
  { const RunFolder run(folder_.path(), RunFolderMode::resume); }
  expect_new();

  put_next(".nibble-next-moving");
  fs::remove(folder_.path() / ".nibble-next-moving/settings.json");  // this one has moved
  fs::remove(folder_.path() / "checkpoint.safetensors");
  fs::remove(folder_.path() / "epochs.csv");
  { const RunFolder run(folder_.path(), RunFolderMode::start_or_resume); }
  expect_new();
}

TEST_F(RunFolderTest, StoppedBeforeItsFirstCheckpointStartsAgain) {
  for (const RunFolderMode mode : {RunFolderMode::resume, RunFolderMode::start_or_resume}) {
    folder_.put("settings.json", "{}");
    folder_.put("best.nib", "x");
    folder_.put("notes.txt", "mine");
    const RunFolder run(folder_.path(), mode);
    EXPECT_FALSE(run.is_resumed());
    EXPECT_EQ(folder_.files(), 1);
  }
}

TEST_F(RunFolderTest, GoesOnInFilesOfItsOwnAlone) {
  folder_.put("checkpoint.safetensors", "");
  folder_.put("elsewhere/precious", "mine");
  for (const char* name : {"model.nib", "summary.json", "epochs.csv"}) {
    for (const char* target : {"elsewhere/precious", "elsewhere/absent", "elsewhere"}) {
      fs::create_symlink(folder_.path() / target, folder_.path() / name);
      for (const RunFolderMode mode : {RunFolderMode::resume, RunFolderMode::start_or_resume}) {
        EXPECT_EQ(error(mode), "[run] " + (folder_.path() / name).string() +
                                   ": got a link, expected a file in the run's own folder");
      }
      fs::remove(folder_.path() / name);
    }
  }
  fs::create_directory(folder_.path() / "model.nib");
  EXPECT_THAT(error(RunFolderMode::resume), HasSubstr("got no regular file"));
}

TEST_F(RunFolderTest, StartsOrResumesWhateverThereIsToDo) {
  EXPECT_FALSE(RunFolder(folder_.path() / "new", RunFolderMode::start_or_resume).is_resumed());
  folder_.put("new/checkpoint.safetensors", "");
  EXPECT_TRUE(RunFolder(folder_.path() / "new", RunFolderMode::start_or_resume).is_resumed());
  folder_.put("lost/model.nib", "");
  EXPECT_THAT(error_of([&] { RunFolder(folder_.path() / "lost", RunFolderMode::start_or_resume); }),
              HasSubstr("cannot be resumed"));
  EXPECT_TRUE(fs::exists(folder_.path() / "lost/model.nib"));
}

TEST_F(RunFolderTest, WithoutACheckpointCannotBeResumed) {
  folder_.put("model.nib", "");
  EXPECT_EQ(error(RunFolderMode::resume), "[run] " + folder_.path().string() +
                                              " cannot be resumed: it holds no "
                                              "checkpoint.safetensors");
  const fs::path missing = folder_.path() / "missing";
  EXPECT_THAT(error_of([&] { RunFolder(missing, RunFolderMode::resume); }), HasSubstr("resumed"));
  EXPECT_FALSE(fs::exists(missing));
}

TEST_F(RunFolderTest, IsOfOneRunAtATime) {
  const RunFolder run(folder_.path(), RunFolderMode::fresh);
  EXPECT_THAT(error(RunFolderMode::fresh), HasSubstr("is in use by another run"));
}

TEST_F(RunFolderTest, ThatIsAFileIsRefused) {
  const fs::path file = folder_.put("file", "");
  EXPECT_THAT(error_of([&] { RunFolder(file, RunFolderMode::fresh); }),
              HasSubstr("cannot create " + file.string()));
}

TEST_F(RunFolderTest, HasTheTablesThatWereAgreed) {
  RunFolder run(folder_.path(), RunFolderMode::fresh);
  run.add_epoch({.epoch = 0,
                 .step = 100,
                 .learning_rate = 0.1,
                 .train_loss = 1.5,
                 .train_top1 = 0.25,
                 .seconds = 2.0,
                 .images_per_second = 800});
  run.add_layers({});
  EXPECT_FALSE(fs::exists(run.layers_path()));
  const std::vector<LayerRow> layers{{.epoch = 0,
                                      .layer = "conv1",
                                      .role = "weight",
                                      .format = "float(5,10)",
                                      .elements = 9,
                                      .min = -1,
                                      .max = 1,
                                      .mean = 0.5,
                                      .deviation = 0.125,
                                      .sqnr_db = 40.5}};
  run.add_layers(layers);
  const std::vector<HistogramRow> histograms{
      {.layer = "conv1", .role = "error", .low = -1, .high = 1, .counts = {1, 0, 3}}};
  run.add_histograms(histograms);
  EXPECT_EQ(folder_.content_of("epochs.csv"),
            "epoch,step,learning_rate,train_loss,train_top1,val_loss,val_top1,test_loss,test_top1,"
            "seconds,images_per_second\n0,100,0.1,1.5,0.25,,,,,2,800\n");
  EXPECT_EQ(folder_.content_of("layers.csv"),
            "epoch,layer,role,format,elements,min,max,mean,deviation,sqnr_db,share_saturated,"
            "share_flushed\n0,conv1,weight,\"float(5,10)\",9,-1,1,0.5,0.125,40.5,,\n");
  EXPECT_EQ(folder_.content_of("histograms.csv"),
            "epoch,layer,role,low,high,counts\n0,conv1,error,-1,1,1 0 3\n");
}

TEST_F(RunFolderTest, ResumedGoesOnAfterTheCheckpoint) {
  {
    RunFolder run(folder_.path(), RunFolderMode::fresh);
    for (std::int64_t epoch = 0; epoch < 4; ++epoch) run.add_epoch({.epoch = epoch});
    run.write_summary("{}");
  }
  const std::string before = folder_.content_of("epochs.csv");
  folder_.put("epochs.csv", before + "4,half a r");
  folder_.put("checkpoint.safetensors", "");
  RunFolder run(folder_.path(), RunFolderMode::resume);
  run.resume_after(1);
  EXPECT_FALSE(fs::exists(run.summary_path()));
  for (std::int64_t epoch = 2; epoch < 4; ++epoch) run.add_epoch({.epoch = epoch});
  EXPECT_EQ(folder_.content_of("epochs.csv"), before);
}

TEST_F(RunFolderTest, TakesJsonAlone) {
  RunFolder run(folder_.path(), RunFolderMode::fresh);
  run.write_settings("{\"seed\": 1}");
  EXPECT_EQ(folder_.content_of("settings.json"), "{\"seed\": 1}\n");
  EXPECT_THAT(error_of([&] { run.write_settings("{seed"); }),
              HasSubstr("settings.json: got text that is no JSON, expected JSON"));
  EXPECT_EQ(folder_.content_of("settings.json"), "{\"seed\": 1}\n");
}

TEST_F(RunFolderTest, OnAFullDiskKeepsWhatItHad) {
  RunFolder run(folder_.path(), RunFolderMode::fresh);
  run.write_settings("{\"seed\": 1}");
  run.add_epoch({.epoch = 0});
  const std::string epochs = folder_.content_of("epochs.csv");
  {
    const FileSizeLimit full(epochs.size() + 3);
    EXPECT_THAT(error_of([&] { run.add_epoch({.epoch = 1}); }),
                HasSubstr("cannot write " + run.epochs_path().string()));
    EXPECT_THAT(error_of([&] { run.write_settings("[" + std::string(200, ' ') + "]"); }),
                HasSubstr("settings.json"));
    const std::vector<LayerRow> rows(3);
    EXPECT_THAT(error_of([&] { run.add_layers(rows); }), HasSubstr("layers.csv"));
  }
  EXPECT_EQ(folder_.content_of("epochs.csv"), epochs);
  EXPECT_EQ(folder_.content_of("settings.json"), "{\"seed\": 1}\n");
  EXPECT_LE(folder_.files(), 3);
}

}  // namespace
}  // namespace nibble::inline run_folder
