// Feeds any bytes to the reader of scored prompts: they are read or refused with InputError, and what is read can be
// selected from and aligned.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "models/reuse/importance_signal.h"
#include "models/reuse/span_completion.h"
#include "models/schema/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const double rho = data[0] / 255.0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    for (const auto& prompt : kvsim::models::scored_prompts_from_text("fuzz", text)) {
      const auto selected = kvsim::models::select_tokens(prompt.importance, rho, {});
      if (!prompt.offsets.empty()) (void)kvsim::models::aligned_tokens(selected, prompt.offsets, prompt.target);
    }
  } catch (const kvsim::schema::InputError&) {  // refused, as it should be
  }
  return 0;
}
