// Which documents a report is made of, and what is said of those that are none.
#include "tools/report/documents.h"

#include <sys/stat.h>

#include <filesystem>

#include "models/schema/error.h"
#include "tests/cli/workspace.h"
#include "tests/report/documents.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

class ReportInput : public test::Workspace {
 protected:
  std::string path(const std::string& name) const { return folder() + "/" + name; }
  /// What is wrong with a file or folder, without its path in front.
  std::string error_of(const std::string& name) {
    try {
      (void)read_inputs({path(name)});
    } catch (const schema::InputError& e) {
      const std::string said = e.what();
      EXPECT_TRUE(said.starts_with(path(name) + ": ")) << said;
      return said.substr(std::min(said.size(), path(name).size() + 2));
    }
    return "nothing is wrong";
  }
  std::string error_in(const std::string& text) {
    write("result.json", text);
    return error_of("result.json");
  }
};

TEST_F(ReportInput, KindsAreToldByTheirKeys) {
  EXPECT_EQ(kind_of(run_document(), ""), Kind::run);
  EXPECT_EQ(kind_of(compare_document({run_document()}), ""), Kind::compare);
  EXPECT_EQ(kind_of(sweep_document(), ""), Kind::sweep);
  EXPECT_EQ(kind_of(plan_document(), ""), Kind::plan);
  EXPECT_EQ(kind_of(capacity_document(), ""), Kind::capacity);
  EXPECT_EQ(kind_of({{"schema_version", 1}}, ""), Kind::other);
  EXPECT_EQ(kind_of({{"schema_version", 1}, {"results", Json::array()}}, ""), Kind::runs);
}

TEST_F(ReportInput, KeysOfAnotherTypeTellNothing) {
  for (const char* key : {"configurations", "results", "optimum", "requests", "points"}) {
    EXPECT_EQ(kind_of({{"schema_version", 1}, {key, 5}}, ""), Kind::other) << key;
  }
}

TEST_F(ReportInput, EachKindGoesWhereItBelongs) {
  const Inputs inputs = inputs_of(one_of_each());
  EXPECT_EQ(inputs.runs.size(), 1);
  ASSERT_EQ(inputs.compares.size(), 1);
  EXPECT_EQ(inputs.compares[0].results.size(), 3);
  EXPECT_FALSE(has(inputs.compares[0].document, {"results"}));
  EXPECT_EQ(inputs.sweeps.size(), 1);
  EXPECT_EQ(inputs.plans.size(), 1);
  EXPECT_EQ(inputs.capacities.size(), 1);
  EXPECT_EQ(inputs.others.size(), 1);
  EXPECT_EQ(inputs.size(), 6);
}

TEST_F(ReportInput, TheSameResultGivenTwiceCountsOnce) {
  std::vector<Json> twice = one_of_each();
  for (const Json& d : one_of_each()) twice.push_back(d);
  EXPECT_EQ(inputs_of(twice).size(), 6);
  EXPECT_EQ(inputs_of({run_document("a", 100), run_document("a", 101)}).size(), 2);
}

TEST_F(ReportInput, SeveralRunsOfOneDocumentAreRuns) {
  const Inputs inputs = inputs_of({{{"schema_version", 1}, {"results", {run_document("a"), run_document("b")}}}});
  ASSERT_EQ(inputs.runs.size(), 2);
  EXPECT_EQ(inputs.runs[1].policy, "b");
}

TEST_F(ReportInput, APolicyIsCalledAsItWasAskedFor) {
  Json run = run_document("draft_verify:lock_step");
  run["details"]["policies"]["decode"] = "draft_verify";
  EXPECT_EQ(inputs_of({run}).runs[0].policy, "draft_verify:lock_step");
  run["details"]["policies"].erase("asked");
  EXPECT_EQ(inputs_of({run}).runs[0].policy, "draft_verify");
}

TEST_F(ReportInput, WhatIsNoJsonIsSaidToEndOrGoWrong) {
  EXPECT_EQ(error_in(""), "no JSON: it ends or goes wrong at byte 1");
  EXPECT_EQ(error_in("{\"a\": 1"), "no JSON: it ends or goes wrong at byte 8");
  EXPECT_EQ(error_in("name: tiny\n"), "no JSON: it ends or goes wrong at byte 2");
  EXPECT_EQ(error_in("{\"a\": \"\xFF\"}"), "no JSON: it ends or goes wrong at byte 8");
}

TEST_F(ReportInput, ANumberThatCannotBeHeldIsRefused) {
  EXPECT_EQ(error_in("{\"schema_version\": 1e999}"), "a number in it is too large to be held");
}

TEST_F(ReportInput, AHalfOfAResultIsNoJson) {
  const std::string whole = run_document().dump(2);
  EXPECT_TRUE(error_in(whole.substr(0, whole.size() / 2)).starts_with("no JSON: it ends or goes wrong at byte"));
}

TEST_F(ReportInput, OtherJsonIsNoResult) {
  for (const char* text :
       {"{}", "[]", "5", "null", "\"text\"", "{\"schema_version\": \"1\"}", "[{\"schema_version\": 1}]"}) {
    EXPECT_EQ(error_in(text), "no result of kvsim: it has no schema_version") << text;
  }
}

TEST_F(ReportInput, AResultOfAnotherVersionIsRefused) {
  EXPECT_EQ(error_in("{\"schema_version\": 0}"), "schema_version 0 is older than this kvsim, which knows 1");
  EXPECT_EQ(error_in("{\"schema_version\": 99}"), "schema_version 99 is newer than this kvsim, which knows 1");
  EXPECT_EQ(error_in("{\"schema_version\": 1, \"baseline\": \"a\", \"results\": [{\"schema_version\": 2}]}"),
            "in results: schema_version 2 is newer than this kvsim, which knows 1");
  EXPECT_EQ(error_in("{\"schema_version\": 1, \"points\": [{\"result\": {\"schema_version\": 0}}]}"),
            "in points: schema_version 0 is older than this kvsim, which knows 1");
}

TEST_F(ReportInput, AComparisonWithoutResultsIsRefused) {
  EXPECT_EQ(error_in(compare_document({}).dump()), "a comparison without results");
}

TEST_F(ReportInput, WhatIsNotThereIsNamed) {
  EXPECT_EQ(error_of("none.json"), "No such file or directory");
}

TEST_F(ReportInput, AFolderWithoutResultsSaysWhoWritesThem) {
  write("r/notes.json", run_document().dump());
  const std::string error = error_of("r");
  EXPECT_NE(error.find("no result.json, sweep.json or plan.json"), std::string::npos) << error;
  EXPECT_NE(error.find("--out"), std::string::npos) << error;
}

TEST_F(ReportInput, AnErrorInAFolderNamesTheFile) {
  write("r/deep/result.json", "{}");
  try {
    (void)read_inputs({path("r")});
    FAIL();
  } catch (const schema::InputError& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with(path("r/deep/result.json") + ": ")) << e.what();
  }
}

TEST_F(ReportInput, ResultsInFoldersAreReadInTheOrderOfTheirNames) {
  write("r/c/result.json", run_document("third").dump());
  write("r/a/deep/result.json", run_document("first").dump());
  write("r/b/result.json", run_document("second").dump());
  write("r/b/timing.json", "no JSON");
  write("r/plan.json", plan_document().dump());
  write("r/z/sweep.json", sweep_document().dump());
  const Inputs inputs = read_inputs({path("r")});
  ASSERT_EQ(inputs.runs.size(), 3);
  EXPECT_EQ(inputs.runs[0].policy, "first");
  EXPECT_EQ(inputs.runs[1].policy, "second");
  EXPECT_EQ(inputs.runs[2].policy, "third");
  EXPECT_EQ(inputs.plans.size(), 1);
  EXPECT_EQ(inputs.sweeps.size(), 1);
}

TEST_F(ReportInput, FilesAreReadInTheOrderOfTheCommandLine) {
  write("a.json", run_document("first").dump());
  write("b.json", run_document("second").dump());
  const Inputs inputs = read_inputs({path("b.json"), path("a.json")});
  EXPECT_EQ(inputs.runs[0].policy, "second");
  EXPECT_EQ(inputs.runs[1].policy, "first");
}

TEST_F(ReportInput, OddThingsInFoldersAreNotWaitedFor) {
  write("r/result.json", run_document().dump());
  std::filesystem::create_directories(path("r/pipe"));
  ASSERT_EQ(::mkfifo(path("r/pipe/result.json").c_str(), 0600), 0);  // nobody will ever write to it
  std::filesystem::create_directory_symlink(path("r"), path("r/round"));
  std::filesystem::create_symlink("nowhere", path("r/plan.json"));
  EXPECT_EQ(read_inputs({path("r")}).size(), 1);
}

TEST_F(ReportInput, ADeviceIsRefusedBeforeItIsRead) {
  // /dev/zero has no end.
  EXPECT_THROW((void)read_inputs({"/dev/zero"}), schema::InputError);
}

TEST_F(ReportInput, NestingWithoutEndIsRefused) {
  const std::string deep(200000, '[');
  const std::string error =
      error_in("{\"schema_version\": 1, \"prices\": " + deep + std::string(deep.size(), ']') + "}");
  EXPECT_NE(error.find("nested"), std::string::npos) << error;
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
