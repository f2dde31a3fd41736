// Reading measured data: where it is looked for, tables with quoted fields.
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

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
