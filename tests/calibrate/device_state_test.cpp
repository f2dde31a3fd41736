// The GPU's state during benchmarks: what is made of it, and the management library's interface, on a library of our
// own.
#include "tools/calibrate/host/device_state.h"

#include <gtest/gtest.h>

#include <atomic>

#include "tools/calibrate/host/nvml.h"

namespace kvsim::calibrate::KVSIM_FILE {
namespace {

DeviceLook look(unsigned mhz, std::uint64_t reasons, unsigned others = 0) {
  return {mhz, 2619, 500, 60, reasons, others};
}

TEST(Throttling, IsWhatHoldsClocksDownAndNotAnIdleCard) {
  EXPECT_EQ(throttling(0), "");
  EXPECT_EQ(throttling(0x1 | 0x2 | 0x100), "") << "idle, clocks that were set, a display";
  EXPECT_EQ(throttling(0x4), "power cap");
  EXPECT_EQ(throttling(0x4 | 0x20), "power cap+heat");
}

TEST(DeviceState, AThrottledRunIsMarkedWithItsShareAndItsClocks) {
  const DeviceState state = state_of({look(1980, 0), look(1410, 0x4), look(1400, 0x24), look(1980, 0x1, 2)});
  EXPECT_EQ(state.throttled_share, 0.5);
  EXPECT_EQ(state.throttled_by, "power cap+heat");
  EXPECT_EQ(state.other_processes, 2U);
  EXPECT_EQ(remark(state),
            "throttled (power cap+heat) in 50 % of 4 looks, SM clock 1980 MHz; 2 other processes computed on the GPU");
  EXPECT_EQ(remark(state_of({look(1980, 0), look(1965, 0x1)})), "");
}

TEST(DeviceWatch, LooksAtLeastOnceAndNotAfterItsEnd) {
  std::atomic<int> looks{0};
  DeviceWatch watch([&looks] {
    ++looks;
    return look(1980, 0);
  });
  const std::vector<DeviceLook> seen = watch.end();
  ASSERT_GE(seen.size(), 1U);
  EXPECT_EQ(static_cast<std::size_t>(looks.load()), seen.size());
  EXPECT_EQ(seen.front().sm_clock_mhz, 1980U);
}

TEST(Nvml, IsReadWhereItIsThere) {
  std::string why;
  const auto nvml = Nvml::open("0000:3b:00.0", why, KVSIM_FAKE_NVML);
  ASSERT_TRUE(nvml) << why;
  const DeviceLook now = nvml->look();
  EXPECT_EQ(now.sm_clock_mhz, 1410U);
  EXPECT_EQ(now.memory_clock_mhz, 2619U);
  EXPECT_DOUBLE_EQ(now.power_w, 698.5);
  EXPECT_EQ(now.temperature_c, 71U);
  EXPECT_EQ(throttling(now.clock_reasons), "power cap");
  EXPECT_EQ(now.other_processes, 1U);
  const DeviceLimits limits = nvml->limits();
  EXPECT_EQ(limits.most_sm_clock_mhz, 1980U);
  EXPECT_DOUBLE_EQ(limits.power_limit_w, 700);
  EXPECT_EQ(limits.ecc, true);
  EXPECT_EQ(limits.mig, std::nullopt) << "the card has no such mode";
  CsvFile file(device_state_columns());
  file.add(device_state_row("h100", "0.1.0", "linear", state_of({now}), limits));
  EXPECT_NE(file.text(false).find("h100,0.1.0,linear,1,1410,1980,2619,698.5,700,71,1,power cap,on,unknown,1"),
            std::string::npos)
      << file.text(false);
}

TEST(Nvml, IsNotNeeded) {
  std::string why;
  EXPECT_FALSE(Nvml::open("0000:3b:00.0", why, "libno-such-library.so.1"));
  EXPECT_EQ(why, "libno-such-library.so.1 is not there");
  EXPECT_FALSE(Nvml::open("0000:ff:00.0", why, KVSIM_FAKE_NVML));
  EXPECT_NE(why.find("knows no device 0000:ff:00.0"), std::string::npos) << why;
}

}  // namespace
}  // namespace kvsim::calibrate::KVSIM_FILE
