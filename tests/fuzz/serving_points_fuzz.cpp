// Feeds any bytes to the readers of serving points, of load generators' results and of recorded runs (JSON lines, CSV
// by its header, load over time): points are read or refused with InputError, whatever the input.
#include <array>

#include "planner/backtest/serving_points.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  // By the first byte: D, A, B, C.
  constexpr std::array<const char*, 4> kNames{"fuzz.csv", "fuzz.json", "fuzz.jsonl", "timeseries.csv"};
  std::string_view text = fuzz::text_of(data, size);
  const std::size_t which = fuzz::choice(text) % kNames.size();
  fuzz::read_or_refused([&] {
    if (which == 3) {
      static_cast<void>(planner::backtest::read_recorded_load_text(text, kNames[which], 0));
    } else {
      static_cast<void>(planner::backtest::read_points_text(text, kNames[which], {{"system", "h200"}}));
    }
  });
  return 0;
}
