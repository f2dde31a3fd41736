// Arguments, statistics, files.
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <yaml-cpp/yaml.h>

#include "models/schema/error.h"
#include "tools/calibrate/host/arguments.h"
#include "tools/calibrate/host/interrupt.h"
#include "tools/calibrate/host/machine_record.h"
#include "tools/calibrate/host/output.h"

namespace kvsim::calibrate::KVSIM_FILE {
namespace {

Arguments parse(std::vector<const char*> words) {
  words.insert(words.begin(), "kvsim-calibrate");
  return parse_arguments(static_cast<int>(words.size()), words.data());
}

std::string error_of(const std::vector<const char*>& words) {
  try {
    parse(words);
  } catch (const schema::InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Arguments, WithoutAnyEveryBenchmarkRunsForTwoMinutesEach) {
  const Arguments arguments = parse({});
  EXPECT_EQ(benchmarks().size() - 1, arguments.benchmarks.size()) << "storage is written to where one says so";
  EXPECT_EQ(120, arguments.budget_s);
  EXPECT_EQ("kvsim-calibrate", arguments.command_line);
  EXPECT_TRUE(arguments.answer.empty());
}

TEST(Arguments, QuickIsUnderTwoMinutesInAll) {
  const Arguments arguments = parse({"--quick"});
  EXPECT_LT(arguments.budget_s * static_cast<double>(arguments.benchmarks.size()), 120);
}

TEST(Arguments, OnlyTakesAListAndKeepsTheOrderOfRunning) {
  EXPECT_EQ((std::vector<std::string>{"memory", "linear"}), parse({"--only", "linear,memory"}).benchmarks);
  EXPECT_EQ((std::vector<std::string>{"topk"}), parse({"--only=topk"}).benchmarks);
}

TEST(Arguments, StorageIsTimedWhereAFolderIsNamed) {
  EXPECT_EQ((std::vector<std::string>{"storage"}), parse({"--only", "storage", "--storage", "/tmp"}).benchmarks);
  EXPECT_EQ(benchmarks().size(), parse({"--storage", "/tmp"}).benchmarks.size());
  EXPECT_NE(error_of({"--only", "storage"}).find("expected --storage DIR"), std::string::npos);
}

TEST(Arguments, AMisspeltBenchmarkIsToldTheNearest) {
  EXPECT_NE(error_of({"--only", "memory,linaer"}).find("did you mean \"linear\"?"), std::string::npos);
}

TEST(Arguments, AMisspeltOptionIsToldTheNearest) {
  EXPECT_NE(error_of({"--quikc"}).find("did you mean \"--quick\"?"), std::string::npos) << error_of({"--quikc"});
}

TEST(Arguments, WhatMakesNoSenseIsRefused) {
  for (const std::vector<const char*>& words : std::vector<std::vector<const char*>>{{"--budget", "0"},
                                                                                     {"--budget", "nan"},
                                                                                     {"--budget", "x"},
                                                                                     {"--device", "-1"},
                                                                                     {"--out", ""},
                                                                                     {"--seed", "-1"},
                                                                                     {"stray"},
                                                                                     {"--only"}}) {
    EXPECT_NE("", error_of(words)) << words.front();
  }
}

TEST(Arguments, HelpAndListAreAnswers) {
  EXPECT_NE(parse({"--help"}).answer.find("Exit status"), std::string::npos);
  for (const BenchmarkInfo& info : benchmarks()) {
    EXPECT_NE(parse({"--list"}).answer.find(info.name), std::string::npos);
  }
}

TEST(SpreadOf, InterpolatesBetweenSamples) {
  const Spread spread = spread_of({4, 1, 3, 2});  // at 0.3, 1.5 and 2.7 of 0..3
  EXPECT_DOUBLE_EQ(1.3, spread.p10);
  EXPECT_DOUBLE_EQ(2.5, spread.median);
  EXPECT_DOUBLE_EQ(3.7, spread.p90);
  EXPECT_EQ(4U, spread.repeats);
  EXPECT_THROW(spread_of({}), std::invalid_argument);
}

TEST(RepeatsFor, FillsTheTimeWithinItsBounds) {
  EXPECT_EQ(50U, repeats_for(0.001, 0.05, 10, 200));
  EXPECT_EQ(10U, repeats_for(1, 0.05, 10, 200));
  EXPECT_EQ(200U, repeats_for(1e-6, 0.05, 10, 200));
  EXPECT_EQ(200U, repeats_for(0, 0.05, 10, 200));
}

TEST(CsvFile, SortsNumbersByValueAndQuotesCommas) {
  CsvFile file({"name", "size", "ms"});
  file.add(CsvRow("a, b", 10, 0.25));
  file.add(CsvRow("a, b", 9, 1.0 / 3));
  EXPECT_EQ("name,size,ms\n\"a, b\",9,0.3333333\n\"a, b\",10,0.25\n", file.text(true));
  EXPECT_EQ("name,size,ms\n\"a, b\",10,0.25\n\"a, b\",9,0.3333333\n", file.text(false));
  EXPECT_THROW(file.add(CsvRow(1)), std::logic_error);
}

TEST(CsvFile, ARowMayBeginWithAnEmptyCell) {
  CsvFile file({"gpu", "size"});
  file.add(CsvRow("", 10));
  EXPECT_EQ("gpu,size\n,10\n", file.text(true)) << "of a run without a GPU";
}

TEST(CsvRow, ASpreadIsFourCells) {
  EXPECT_EQ((std::vector<std::string>{"2", "1", "3", "7"}), CsvRow(Spread{2, 1, 3, 7}).cells());
}

class OutputFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "kvsim-calibrate-XXXXXX").string();
    ASSERT_NE(nullptr, ::mkdtemp(name.data()));
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(OutputFolderTest, IsMadeAndHoldsWholeFilesOnly) {
  const OutputFolder out((folder_ / "a/b").string(), false);
  out.write("x.csv", "1\n");
  out.write("x.csv", "2\n");
  std::ifstream file(folder_ / "a/b/x.csv");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ("2\n", text.str());
  EXPECT_EQ(1, std::distance(std::filesystem::directory_iterator(folder_ / "a/b"), {}));
}

TEST_F(OutputFolderTest, RefusesAFolderInUseUnlessForced) {
  std::ofstream(folder_ / "old.csv") << "x";
  EXPECT_THROW(OutputFolder(folder_.string(), false), schema::InputError);
  EXPECT_NO_THROW(OutputFolder(folder_.string(), true));
  EXPECT_THROW(OutputFolder((folder_ / "old.csv").string(), true), schema::InputError) << "a file is no folder";
}

TEST(MachineRecord, IsYamlThatSaysWhatIsKnownOnly) {
  MachineRecord machine;
  machine.gpu = "NVIDIA H100: \"PCIe\"";
  machine.compute_capability = 90;
  machine.memory_clock_khz = 2619000;
  machine.memory_bus_bits = 5120;
  machine.runtime_version = 13000;
  machine.files = {"memory.csv"};
  machine.notes["linear"] = "skipped: 3";
  const YAML::Node yaml = YAML::Load(machine_yaml(machine));
  EXPECT_EQ(machine.gpu, yaml["gpu"].as<std::string>());
  EXPECT_EQ("9.0", yaml["compute_capability"].as<std::string>());
  EXPECT_NEAR(3.352e12, yaml["implied_memory_bytes_per_s"].as<double>(), 1e9);  // 2 x 2.619 GHz x 640 B
  EXPECT_EQ("13.0", yaml["cuda_runtime"].as<std::string>());
  EXPECT_FALSE(yaml["pcie"]) << "not read";
  EXPECT_EQ("skipped: 3", yaml["notes"]["linear"].as<std::string>());
  EXPECT_EQ("memory.csv", yaml["files"][0].as<std::string>());
}

TEST(MachineRecord, DateIsUtcAndNamesAreColumns) {
  EXPECT_EQ(20U, utc_now().size());
  EXPECT_EQ('Z', utc_now().back());
  EXPECT_EQ("nvidia_h100_80gb_hbm3", column_name("NVIDIA H100 80GB HBM3 "));
}

TEST(Interrupt, TheFirstIsNotedAndStopsTheNextStep) {
  const auto stops = [] {
    try {
      stop_if_interrupted();
    } catch (const Interrupted&) {
      return true;
    }
    return false;
  };
  // In a process of its own, for what is noted stays.
  EXPECT_EXIT(
      {
        note_interrupts();
        const bool before = stops();
        static_cast<void>(std::raise(SIGINT));
        std::_Exit(!before && interrupt_noted() && stops() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace kvsim::calibrate::KVSIM_FILE
