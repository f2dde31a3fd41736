// Feeds any bytes to every trace reader: a trace is read or refused with InputError, whatever the input.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "models/schema/error.h"
#include "models/workload/trace_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto formats = kvsim::models::trace_formats();
  const kvsim::models::TraceFormat& format = formats[data[0] % formats.size()];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    kvsim::models::TraceOptions options;
    if (format.name == "columns") {
      options.columns = {
          .arrival = "ts", .prompt = "in", .output = "out", .session = "conv", .parent = {}, .end = "end"};
    }
    const auto requests = kvsim::models::read_trace_text(format, "fuzz", text, options);
    kvsim::models::describe_trace(requests, format.block_tokens);
  } catch (const kvsim::schema::InputError&) {  // refused, as it should be
  }
  return 0;
}
