// Feeds any bytes to every trace reader: a trace is read or refused with InputError, whatever the input.
#include "models/workload/trace_reader.h"
#include "tests/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvsim;
  std::string_view text = fuzz::text_of(data, size);
  const auto formats = models::trace_formats();
  const std::size_t chosen = fuzz::choice(text);
  models::TraceFormat format = formats[chosen % formats.size()];
  fuzz::read_or_refused([&] {
    models::TraceOptions options;
    if (format.name == "columns") {
      options.columns = {
          .arrival = "ts", .prompt = "in", .output = "out", .session = "conv", .parent = "by", .end = "end"};
      if (chosen / formats.size() % 2 == 1) {
        options.columns->blocks = "ids";
        options.columns->block_tokens = format.block_tokens = 16;
      }
    }
    options.skip_invalid = chosen / formats.size() / 2 % 2 == 1;
    options.sort = chosen / formats.size() / 4 % 2 == 1;
    std::uint64_t left_out = 0;
    options.left_out = &left_out;
    const auto requests = models::read_trace_text(format, "fuzz", text, options);
    models::describe_trace(requests, format.block_tokens);
  });
  return 0;
}
