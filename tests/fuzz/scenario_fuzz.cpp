// Any text either is a scenario or is refused with an InputError.
#include "sim/scenario/scenario.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  const std::string_view text = fuzz::text_of(data, size);
  if (text.find('/') != std::string_view::npos) return 0;  // no wandering through the file system
  fuzz::read_or_refused([&] { scenario::load_scenario_text(text, "fuzz.yaml"); });
  return 0;
}
