// Feeds any bytes to the reader of scored prompts: they are read or refused with InputError, and what is read can be
// selected from and aligned.
#include "models/reuse/importance_signal.h"
#include "models/reuse/span_completion.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  std::string_view text = fuzz::text_of(data, size);
  const double rho = static_cast<double>(fuzz::choice(text)) / 255.0;
  fuzz::read_or_refused([&] {
    for (const auto& prompt : models::scored_prompts_from_text("fuzz", text)) {
      const auto selected = models::select_tokens(prompt.importance, rho, {});
      if (!prompt.offsets.empty()) (void)models::aligned_tokens(selected, prompt.offsets, prompt.target);
    }
  });
  return 0;
}
