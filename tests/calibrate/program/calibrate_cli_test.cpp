// The program itself, as a user runs it. What needs a GPU is tried where there is one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/cli/command.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

/// Environment in which CUDA sees no device, whatever the machine has.
CommandResult without_device(const std::string& arguments) {
  return shell("CUDA_VISIBLE_DEVICES= exec \"$KVSIM\" " + arguments);
}

TEST(CalibrateProgram, SaysThatThereIsNoDeviceAndMakesNoFolder) {
  const std::string folder = (std::filesystem::temp_directory_path() / "kvsim-calibrate-no-device").string();
  std::filesystem::remove_all(folder);
  const CommandResult r = without_device("--quick --out " + folder);
  EXPECT_EQ(2, r.status);
  EXPECT_NE(r.err.find("found no CUDA device"), std::string::npos) << r.err;
  EXPECT_EQ("", r.out);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(CalibrateProgram, HelpAndListNeedNoDevice) {
  const CommandResult help = without_device("--help");
  EXPECT_EQ(0, help.status);
  EXPECT_NE(help.out.find("--only"), std::string::npos);
  const CommandResult list = without_device("--list");
  EXPECT_EQ(0, list.status);
  EXPECT_NE(list.out.find("decode_attention"), std::string::npos);
  EXPECT_EQ("", help.err + list.err);
}

TEST(CalibrateProgram, WithoutADeviceItSaysWhatItWouldDoAndTimesADriveAndHostMemory) {
  const CommandResult dry = without_device("--dry-run --only launch,verify_attention --models llama-3.1-8b");
  EXPECT_EQ(0, dry.status) << dry.err;
  EXPECT_NE(dry.out.find("verify_attention.csv"), std::string::npos);
  const auto folder = std::filesystem::temp_directory_path() / "kvsim-calibrate-drive";
  std::filesystem::remove_all(folder);
  const CommandResult drive =
      without_device("--only storage,host_memory --storage " + std::filesystem::temp_directory_path().string() +
                     " --quick --budget 2 --out " + folder.string());
  EXPECT_EQ(0, drive.status) << drive.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "storage.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder / "host_memory.csv"));
  EXPECT_TRUE(std::filesystem::exists(folder / "machine.yaml"));
  std::filesystem::remove_all(folder);
}

TEST(CalibrateProgram, AMisspeltNameIsToldTheNearest) {
  const CommandResult r = without_device("--only interferense");
  EXPECT_EQ(2, r.status);
  EXPECT_NE(r.err.find("did you mean \"interference\"?"), std::string::npos) << r.err;
  EXPECT_EQ(2, without_device("--models llama-3.1-8c").status);
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
