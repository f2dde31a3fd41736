// Feeds any bytes to the readers of serving points: points are read or refused with InputError, whatever the input.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "models/schema/error.h"
#include "planner/backtest/serving_points.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    static_cast<void>(kvsim::planner::backtest::read_points_text(text, data[0] % 2 == 0 ? "fuzz.csv" : "fuzz.json",
                                                                 {{"system", "h200"}}));
  } catch (const kvsim::schema::InputError&) {  // refused, as it should be
  }
  return 0;
}
