// A trace of any format, told again: in every format that is written it reads back as the same lengths, and laws are
// fitted to it. The first byte is the format's place in the table.
#include "models/schema/yaml.h"
#include "planner/traffic/trace_writer.h"
#include "planner/traffic/traffic_fit.h"
#include "tests/fuzz/harness.h"

namespace {

using namespace kvsim;
using planner::traffic::TraceWriter;

constexpr std::size_t kMostRequests = 200;  // fits are not what is looked at

std::vector<models::RequestSpec> read(const models::TraceFormat& format, std::string_view text) {
  models::TraceOptions options;
  options.max_requests = kMostRequests;
  if (format.name == "columns") {
    options.columns = {
        .arrival = "ts", .prompt = "in", .output = "out", .session = "conv", .parent = "by", .end = "end"};
  }
  return models::read_trace_text(format, "fuzz", text, options);
}

/// Throws where what was written is not read.
void write_and_read(const models::TraceFormat& format, const std::vector<models::RequestSpec>& requests) {
  for (const std::string_view written : TraceWriter::written_formats()) {
    TraceWriter writer(written, format.block_tokens);
    std::string text = writer.header();
    for (const models::RequestSpec& request : requests) text += writer.line(request);
    const auto again = read(models::find_trace_format(written), text);
    if (again.size() != requests.size()) std::abort();
    for (std::size_t i = 0; i < again.size(); ++i) {
      if (again[i].prompt_tokens != requests[i].prompt_tokens) std::abort();
      if (again[i].output_tokens != requests[i].output_tokens) std::abort();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = fuzz::text_of(data, size);
  const auto formats = models::trace_formats();
  const models::TraceFormat& format = formats[fuzz::choice(text) % formats.size()];
  std::vector<models::RequestSpec> requests;
  if (!fuzz::read_or_refused([&] { requests = read(format, text); })) return 0;
  write_and_read(format, requests);
  planner::traffic::TrafficSample sample(format.block_tokens);
  for (const models::RequestSpec& request : requests) sample.add(request);
  const auto fitted = planner::traffic::fit_traffic(sample);
  static_cast<void>(schema::to_yaml(planner::traffic::workload_fragment(fitted)));
  return 0;
}
