// Reading measured data: where it is looked for, tables with quoted fields, a recorded run of two requests.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "models/schema/error.h"
#include "tools/validation/group.h"
#include "tools/validation/measured_data.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

namespace fs = std::filesystem;

class MeasuredData : public ::testing::Test {
 protected:
  MeasuredData() {
    std::string name = (fs::temp_directory_path() / "kvsim-measured-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    unsetenv("KVSIM_MEASURED");
  }
  ~MeasuredData() override {
    unsetenv("KVSIM_MEASURED");
    fs::remove_all(folder_);
  }

  std::string write(const std::string& name, const std::string& text) const {
    const fs::path path = fs::path(folder_) / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  static std::string complaint(const std::function<void()>& action) {
    try {
      action();
    } catch (const schema::InputError& e) {
      return e.what();
    }
    return "(none)";
  }

  std::string folder_;
};

TEST_F(MeasuredData, IsLookedForBesideAndAbove) {
  fs::create_directories(folder_ + "/shared/measured");
  fs::create_directories(folder_ + "/a/b");
  EXPECT_EQ(measured_folder("", folder_), folder_ + "/shared/measured");
  EXPECT_EQ(measured_folder("", folder_ + "/a/b"), folder_ + "/shared/measured");
}

TEST_F(MeasuredData, IsWhereTheUserSays) {
  fs::create_directories(folder_ + "/shared/measured");
  fs::create_directories(folder_ + "/mine");
  fs::create_directories(folder_ + "/other");
  setenv("KVSIM_MEASURED", (folder_ + "/other").c_str(), 1);
  EXPECT_EQ(measured_folder(folder_ + "/mine", folder_), folder_ + "/mine");
  EXPECT_EQ(measured_folder("", folder_), folder_ + "/other");
}

TEST_F(MeasuredData, ThatIsNamedMustBeThere) {
  EXPECT_EQ(complaint([&] { measured_folder(folder_ + "/no", folder_); }),
            "--measured: " + folder_ + "/no is no folder, expected one with measured data");
  setenv("KVSIM_MEASURED", "/no", 1);
  EXPECT_EQ(complaint([&] { measured_folder("", folder_); }),
            "KVSIM_MEASURED: /no is no folder, expected one with measured data");
}

TEST_F(MeasuredData, TablesMayHaveCommasInQuotes) {
  const auto rows = read_csv(write("t.csv", "a,b,c\n\"x, \"\"y\"\"\",2.5,\n\nz,no,w\r\n"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("a"), "x, \"y\"");
  EXPECT_EQ(rows[0].number("b"), 2.5);
  EXPECT_EQ(rows[0].at("c"), "");
  EXPECT_EQ(rows[1].line, 4);
  EXPECT_EQ(rows[1].at("c"), "w");
  EXPECT_EQ(complaint([&] { static_cast<void>(rows[1].number("b")); }),
            folder_ + "/t.csv:4: b is \"no\", expected a number");
  EXPECT_EQ(complaint([&] { static_cast<void>(rows[1].at("d")); }), folder_ + "/t.csv: has no column d");
}

TEST_F(MeasuredData, TablesThatAreTornAreRefused) {
  EXPECT_EQ(complaint([&] { read_csv(write("t.csv", "a,b\n1\n")); }),
            folder_ + "/t.csv:2: the line has 1 columns, expected 2 as in the header");
  EXPECT_EQ(complaint([&] { read_csv(folder_ + "/none.csv"); }), folder_ + "/none.csv: cannot be read, or is empty");
}

TEST_F(MeasuredData, ARowOfAnUnknownLinkIsSkipped) {
  write("kv_transfer.csv",
        "test,hardware,transfer_size,GBps,direction,source\n"
        "nvbandwidth_h2d_ce,\"H100, PCIe Gen5\",bulk,55.4,h2d,a log\n"
        "new_test,new machine,1 GB,10,h2d,same\n");
  const auto figures = find_group("transfers").figures({folder_});
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_EQ(figures[0].verdict(), Verdict::pass) << figures[0].simulated;
  EXPECT_EQ(figures[1].verdict(), Verdict::skipped);
  EXPECT_EQ(figures[1].skipped, "no rule says which link of the catalogue this is");
  EXPECT_EQ(figures[1].source, "a log (new_test; h2d)");
}

TEST_F(MeasuredData, ARecordedRunByHand) {
  // Sent at 1000 and 1001 s on one clock, queued at 10.5 and 11.6 on another: offset -989.5, so that the second one
  // took 0.1 s to be queued. First tokens after 0.5 and 0.9 s, last ones 1 and 2 s later over 10 and 20 gaps.
  write("requests.jsonl",
        R"({"arrival_time": 1000, "queued_ts": 10.5, "first_token_ts": 11, "last_token_ts": 12, "output_toks": 11})"
        "\n"
        R"({"arrival_time": 1001, "queued_ts": 11.6, "first_token_ts": 12.4, "last_token_ts": 14.4, "output_toks": 21})"
        "\n");
  write("meta.json", R"({"started_at": "1970-01-01T00:16:39.750000Z"})");
  write("timeseries.csv", "t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct\n1.0,5,6,2,1,0.5\n");
  const RecordedRun run = read_recorded_run(folder_);
  EXPECT_NEAR(run.ttft_s.min(), 0.5, 1e-9);
  EXPECT_NEAR(run.ttft_s.max(), 0.9, 1e-9);
  EXPECT_NEAR(run.e2e_s.max(), 2.9, 1e-9);
  EXPECT_NEAR(run.tpot_s.mean(), 0.1, 1e-9);
  EXPECT_NEAR(run.first_request_s, 0.25, 1e-9);  // 16 min 39.75 s to 1000 s
  ASSERT_EQ(run.load.size(), 1U);
  EXPECT_EQ(run.load[0].running, 2);
  EXPECT_EQ(run.load[0].output_tokens_per_s, 6);
}

TEST_F(MeasuredData, ARecordingThatIsIncompleteIsRefused) {
  write("requests.jsonl", "{\"arrival_time\": 1}\n");
  EXPECT_NE(complaint([&] { read_recorded_run(folder_); }).find("requests.jsonl:1: "), std::string::npos);
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
