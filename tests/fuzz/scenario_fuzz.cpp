// Any text either is a scenario or is refused with an InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "models/schema/error.h"
#include "sim/scenario/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find('/') != std::string_view::npos) return 0;  // no wandering through the file system
  try {
    kvsim::scenario::load_scenario_text(text, "fuzz.yaml");
  } catch (const kvsim::schema::InputError&) {
  }
  return 0;
}
