// The benchmarks that need no GPU, and what a run would do, said without one.
#include "tools/calibrate/host/storage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tools/calibrate/host/dry_run.h"
#include "tools/calibrate/host/host_memory.h"
#include "tools/calibrate/host/plan.h"
#include "tools/calibrate/host/shapes.h"

namespace kvsim::calibrate::KVSIM_FILE {
namespace {

namespace fs = std::filesystem;

class Storage : public ::testing::Test {
 protected:
  Storage() : folder_(fs::path(::testing::TempDir()) / "kvsim-storage") { fs::create_directories(folder_); }
  ~Storage() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(Storage, BlocksAreReadAndWrittenByManyAtOnceAndChecked) {
  constexpr std::int64_t kBytes = std::int64_t{32} << 20;
  const StorageFile file(folder_, kBytes, 7);
  EXPECT_TRUE(fs::is_empty(folder_)) << "the file has no name any more";
  for (const bool write : {true, false}) {
    const Spread spread = file.time({write, 65536, 4});
    EXPECT_GT(spread.median, 0);
    EXPECT_GE(spread.repeats, 5U);
  }
}

TEST_F(Storage, ATableHasEveryCaseWithinItsBudget) {
  const HostTable result = measure_storage(folder_, true, 0, 7, "h100", "0.1.0");
  EXPECT_TRUE(result.file.empty());
  EXPECT_NE(result.note.find("of 28 cases left out after 0 s"), std::string::npos) << result.note;
  EXPECT_THROW(StorageFile(folder_ / "nowhere", 1 << 24, 7), std::runtime_error);
}

TEST(HostMemory, IsReadWrittenAndCopiedByManyAtOnceAndChecked) {
  for (const MemoryAccess access : {MemoryAccess::read, MemoryAccess::write, MemoryAccess::copy}) {
    const Spread spread = time_host_memory({access, 65536, 3}, std::int64_t{1} << 20, 7);
    EXPECT_GT(spread.median, 0) << name_of(access);
    EXPECT_GE(spread.repeats, 5U);
  }
  const HostTable none = measure_host_memory(true, 0, 7, "", "0.1.0");
  EXPECT_TRUE(none.file.empty());
  EXPECT_NE(none.note.find("cases left out after 0 s"), std::string::npos) << none.note;
}

TEST(DryRun, SaysForEachBenchmarkWhatItWouldDo) {
  Arguments arguments;
  arguments.benchmarks = {"launch", "linear", "verify_attention"};
  arguments.out = "h100";
  arguments.budget_s = 120;
  const auto models = catalogue_models(std::vector<std::string>{"llama-3.1-8b"});
  const std::string text = dry_run(arguments, models);
  EXPECT_NE(text.find(fmt::format("{} cases, 120 s at most: verify_attention.csv", verify_cases(models, false).size())),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(fmt::format("{} cases in bf16", linear_cases(models, false, false).size())), std::string::npos);
  EXPECT_NE(text.find("at most 6 min"), std::string::npos);
  EXPECT_EQ(text.find("decode_attention"), std::string::npos) << "not asked for";
}

}  // namespace
}  // namespace kvsim::calibrate::KVSIM_FILE
