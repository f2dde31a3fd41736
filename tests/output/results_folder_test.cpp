// Folders of results: the old set or the new one, at whatever moment a process is killed, and never a mixture taken for
// either.
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "models/schema/error.h"
#include "tests/scenario/temporary_folder.h"
#include "tools/output/results_folder.h"

namespace kvsim::output::KVSIM_FILE {
namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

/// The files of a folder that users see.
Files files_in(const std::string& folder) {
  Files files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) files[entry.path().filename().string()] = text_of(entry.path().string());
  }
  return files;
}

/// Writes a set as a command does; `timed` is a file without a checksum.
void write_set(const std::string& folder, const Files& files, const std::string& timed = "",
               const std::string& journal = "", const std::string& interrupted = "") {
  fs::create_directories(folder);
  const LockedFolder lock(folder, files.begin()->first);
  FileSet set{{}, journal, interrupted};
  for (const auto& [name, text] : files) {
    lock.add(name, text);
    set.files.push_back({name, name == timed ? std::nullopt : std::optional(checksum_of(text))});
  }
  lock.replace(std::move(set));
}

std::string refusal(const std::string& folder, std::string_view name = {}) {
  try {
    static_cast<void>(checked_folder(folder, name));
  } catch (const schema::InputError& error) {
    return error.what();
  }
  return {};
}

const Files kOld{{"a.json", "old a"}, {"b.md", "old b"}, {"gone.yaml", "old"}};
const Files kNew{{"a.json", "new a"}, {"b.md", "new b"}, {"c.yaml", "new c"}};

class ResultsFolder : public ::testing::Test {
 protected:
  ResultsFolder() : path_(folder_.path() + "/o") { write_set(path_, kOld); }

  /// The folder as `files` were written into it, without waiting for the disk again.
  void set_to(const Files& files) {
    const std::string kept = folder_.path() + "/kept of " + files.begin()->second;
    if (!fs::exists(kept)) write_set(kept, files);
    fs::remove_all(path_);
    fs::copy(kept, path_, fs::copy_options::recursive);
  }

  [[nodiscard]] std::string in(const std::string& name) const { return path_ + "/" + name; }

  /// The folder that a process leaves which is killed when it has decided for kNew and moved the files of which `moved`
  /// has the bit.
  void kill_in_swap(unsigned moved) {
    set_to(kNew);
    const std::string decided = text_of(in(".kvsim/manifest.json"));
    set_to(kOld);
    write(in(".kvsim/swap/.kvsim"), decided);
    write(in(".kvsim/lock"), "");
    for (unsigned i = 0; const auto& [name, text] : kNew) {
      write((moved >> i++ & 1U) != 0 ? in(name) : in(".kvsim/swap/" + name), text);
    }
  }

  testing::TemporaryFolder folder_;
  std::string path_;
};

TEST_F(ResultsFolder, ASwapThatWasCutShortIsCompletedByTheNextReaderOrWriter) {
  for (unsigned moved = 0; moved < 8; ++moved) {
    for (const bool reader : {true, false}) {
      kill_in_swap(moved);
      if (reader) {
        EXPECT_EQ(read_checked(in("a.json"), [&] { return text_of(in("a.json")); }), "new a");
      } else {
        const LockedFolder lock(path_, "a.json");
      }
      EXPECT_EQ(files_in(path_), kNew) << moved;
      EXPECT_EQ(refusal(path_), "");
      EXPECT_EQ(files_in(in(".kvsim")).size(), 1) << "the manifest";
      EXPECT_FALSE(fs::exists(in(".kvsim/swap")));
    }
  }
}

// The files are up and the manifest is not: the one step that is left. And after it, but for the empty folder.
TEST_F(ResultsFolder, TheLastStepsOfASwapAreCompletedToo) {
  kill_in_swap(7);
  fs::remove(in("gone.yaml"));
  EXPECT_EQ(refusal(path_), "");
  EXPECT_EQ(files_in(path_), kNew);
  fs::create_directory(in(".kvsim/swap"));
  EXPECT_EQ(refusal(path_), "");
  write_set(path_, kOld);
  EXPECT_EQ(files_in(path_), kOld);
}

TEST_F(ResultsFolder, AKillBeforeTheDecisionLeavesTheOldSet) {
  write(in(".kvsim/new/a.json"), "new");
  write(in(".kvsim/new/.kvsim"), "{");
  write(in(".kvsim/lock"), "");
  EXPECT_EQ(refusal(path_), "");
  EXPECT_EQ(files_in(path_), kOld);
  { const LockedFolder lock(path_, "a.json"); }
  EXPECT_FALSE(fs::exists(in(".kvsim/new"))) << "the next writer cleans up";
  EXPECT_EQ(files_in(path_), kOld);
}

TEST_F(ResultsFolder, AMixtureIsNeverTakenForASet) {
  const std::string end = ", of a.json, b.md, gone.yaml, which belong together; write them again, or remove " +
                          in(".kvsim") + " to take the files as they are";
  for (const auto& [name, text] : kOld) {
    write(in(name), "new x");
    EXPECT_EQ(refusal(path_), path_ + ": incomplete: " + name + " is not as it was written" + end);
    EXPECT_EQ(refusal(path_, "a.json"), refusal(path_)) << "whichever of them is read";
    fs::remove(in(name));
    EXPECT_EQ(refusal(path_), path_ + ": incomplete: " + name + " is missing" + end);
    write(in(name), text);
    EXPECT_EQ(refusal(path_), "");
  }
  write(in(".kvsim/manifest.json"), "{\"sets\": [");
  EXPECT_EQ(refusal(path_),
            in(".kvsim/manifest.json") + ": damaged: remove it to take the files beside it as they are");
  write(in(".kvsim/manifest.json"), R"({"sets": [{"files": [{"name": "../a.json"}]}]})");
  EXPECT_NE(refusal(path_).find("damaged"), std::string::npos) << "no name leads out of the folder";
}

TEST_F(ResultsFolder, ASwapThatCannotBeCompletedIsNoSet) {
  kill_in_swap(1);
  fs::remove(in(".kvsim/lock"));
  fs::create_directory(in(".kvsim/lock"));  // as nobody can lock it, whoever the user is
  EXPECT_EQ(refusal(path_), path_ +
                                ": incomplete: the kvsim that replaced these results was ended, and they cannot be "
                                "completed: cannot write " +
                                in(".kvsim") + ": Is a directory");
}

TEST_F(ResultsFolder, WithoutAListNothingIsChecked) {
  fs::remove_all(in(".kvsim"));
  write(in("b.md"), "changed");
  EXPECT_FALSE(checked_folder(path_).has_value());
  EXPECT_EQ(read_checked(in("a.json"), [] { return std::string("read"); }), "read");
}

TEST_F(ResultsFolder, OneProcessHasItAtATimeAndTheLockGoesWithIt) {
  {
    const LockedFolder lock(path_, "a.json");
    EXPECT_TRUE(lock.lock().is_alone());
    try {
      const LockedFolder second(path_, "a.json");
      FAIL() << "shared";
    } catch (const OutputError& error) {
      EXPECT_EQ(std::string(error.what()), "another kvsim is at work in " + path_);
    }
    EXPECT_EQ(refusal(path_), "") << "the old set is read meanwhile";
  }
  EXPECT_FALSE(fs::exists(in(".kvsim/lock")));
  const std::string empty = folder_.path() + "/empty";
  fs::create_directory(empty);
  { const LockedFolder lock(empty, "a.json"); }
  EXPECT_TRUE(fs::is_empty(empty));
}

TEST_F(ResultsFolder, SetsWithoutACommonNameStandBesideEachOther) {
  const Files plan{{"plan.json", "p"}, {"plan.md", "q"}};
  write_set(path_, plan);
  Files both = kOld;
  both.insert(plan.begin(), plan.end());
  EXPECT_EQ(files_in(path_), both);
  write(in("plan.md"), "mixed");
  EXPECT_EQ(refusal(path_, "a.json"), "") << "another set's file";
  EXPECT_NE(refusal(path_, "plan.json"), "");
  EXPECT_NE(refusal(path_), "");

  const std::string other = folder_.path() + "/other";
  write_set(other, plan);
  write_set(other, kOld);
  write_set(path_, plan);
  EXPECT_EQ(text_of(other + "/.kvsim/manifest.json"), text_of(in(".kvsim/manifest.json"))) << "in whatever order";
}

TEST_F(ResultsFolder, FilesOfUsersAndWhatTheyChangedStay) {
  write(in("mine.txt"), "mine");
  write(in("gone.yaml"), "edited");
  write_set(path_, kNew);
  Files expected = kNew;
  expected["mine.txt"] = "mine";
  expected["gone.yaml"] = "edited";
  EXPECT_EQ(files_in(path_), expected);
  EXPECT_EQ(refusal(path_), "");
}

TEST_F(ResultsFolder, WhatACommandHasReadStays) {
  {
    const LockedFolder lock(path_, "a.json");
    lock.add("a.json", "new a");
    lock.replace({{{"a.json", checksum_of("new a")}}, "", ""}, {"gone.yaml"});
  }
  EXPECT_EQ(files_in(path_), (Files{{"a.json", "new a"}, {"gone.yaml", "old"}}));
  EXPECT_EQ(refusal(path_), "");
}

TEST_F(ResultsFolder, AJournalOutlivesItsSetAndASetLacksItsJournal) {
  const Files sweep{{"a.json", "s"}, {"sweep.csv", "t"}};
  write_set(path_, sweep, "", "points.jsonl");
  EXPECT_NE(refusal(path_).find("points.jsonl is missing"), std::string::npos);
  write(in("points.jsonl"), "hours");
  EXPECT_EQ(refusal(path_, "points.jsonl"), "");
  write_set(path_, kNew);
  Files expected = kNew;
  expected["points.jsonl"] = "hours";
  EXPECT_EQ(files_in(path_), expected);
  EXPECT_EQ(refusal(path_), "");
}

TEST_F(ResultsFolder, AJournalThatBeginsAnewEndsTheSetOfTheOneBefore) {
  write_set(path_, {{"sweep.csv", "t"}}, "", "points.jsonl");
  LockedFolder(path_, "sweep.csv").forget("points.jsonl");
  EXPECT_EQ(files_in(path_), kOld);
  write(in("points.jsonl"), "another sweep");
  EXPECT_EQ(refusal(path_), "");
}

TEST_F(ResultsFolder, WallClockTimesAreNotInTheManifest) {
  write_set(path_, {{"a.json", "x"}, {"timing.json", "1 s"}}, "timing.json");
  const std::string manifest = text_of(in(".kvsim/manifest.json"));
  write_set(path_, {{"a.json", "x"}, {"timing.json", "2 s"}}, "timing.json");
  EXPECT_EQ(text_of(in(".kvsim/manifest.json")), manifest);
  EXPECT_EQ(refusal(path_), "");
  write_set(path_, {{"a.json", "y"}});
  EXPECT_FALSE(fs::exists(in("timing.json"))) << "it belonged to the set that went";
}

TEST_F(ResultsFolder, AnInterruptedSetSaysSo) {
  write_set(path_, kNew, "", "", "results are of 1 of 2");
  EXPECT_EQ(checked_folder(path_)->set_of("a.json")->interrupted, "results are of 1 of 2");
  write_set(path_, kNew);
  EXPECT_EQ(checked_folder(path_)->set_of("a.json")->interrupted, "");
}

TEST_F(ResultsFolder, ALinkToAFolderIsOneAndALinkInPlaceOfKvsimsOwnIsNone) {
  fs::create_directory_symlink(path_, folder_.path() + "/link");
  write_set(folder_.path() + "/link", kNew);
  EXPECT_EQ(files_in(path_), kNew);
  fs::remove_all(in(".kvsim"));
  fs::create_directory_symlink(folder_.path(), in(".kvsim"));
  EXPECT_THROW(write_set(path_, kOld), OutputError);
  EXPECT_EQ(files_in(path_), kNew);
}

// A reader gets one set or the other, however often they change places, and never has to complain.
TEST_F(ResultsFolder, AReaderBesideAWriterSeesOneSetOrTheOther) {
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (int i = 0; i < 20; ++i) write_set(path_, i % 2 == 0 ? kNew : kOld);
    done = true;
  });
  std::size_t reads = 0;
  while (!done || reads == 0) {
    const std::string text = read_checked(in("a.json"), [&] { return text_of(in("a.json")); });
    EXPECT_TRUE(text == "old a" || text == "new a") << text;
    ++reads;
  }
  writer.join();
  EXPECT_EQ(files_in(path_), kOld);
}

}  // namespace
}  // namespace kvsim::output::KVSIM_FILE
