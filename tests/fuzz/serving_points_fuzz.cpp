// Feeds any bytes to the readers of serving points, of recorded runs among them (JSON lines, CSV by its header, load
// over time): points are read or refused with InputError, whatever the input.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "models/schema/error.h"
#include "planner/backtest/serving_points.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  // By the first byte: D, A, B, C.
  constexpr std::array<const char*, 4> kNames{"fuzz.csv", "fuzz.json", "fuzz.jsonl", "timeseries.csv"};
  const std::size_t which = data[0] % kNames.size();
  try {
    if (which == 3) {
      static_cast<void>(kvsim::planner::backtest::read_recorded_load_text(text, kNames[which], 0));
    } else {
      static_cast<void>(kvsim::planner::backtest::read_points_text(text, kNames[which], {{"system", "h200"}}));
    }
  } catch (const kvsim::schema::InputError&) {  // refused, as it should be
  }
  return 0;
}
