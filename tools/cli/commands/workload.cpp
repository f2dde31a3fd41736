// kvsim workload info: what a recorded trace holds.
#include <fmt/format.h>

#include "models/workload/trace_reader.h"
#include "models/workload/trace_statistics.h"
#include "sim/cache/eviction/eviction_policy.h"
#include "tools/cli/command.h"
#include "tools/cli/numbers_from_user.h"
#include "tools/cli/trace_curves.h"
#include "tools/results/json_text.h"
#include "tools/results/numbers.h"
#include "tools/results/result_document.h"

namespace kvsim::cli {
namespace workload_internal {
namespace {

using models::LengthStatistics;
using models::TraceStatistics;

struct Options {
  std::string trace;
  std::string format;
  std::uint64_t max_requests = 0;
  bool json = false;
  CurveOptions curves;
};

results::Json as_json(const LengthStatistics& s) {
  return {{"mean", s.mean}, {"p50", s.p50}, {"p99", s.p99}, {"min", s.min}, {"max", s.max}};
}

results::Json as_json(const TraceStatistics& s, const models::TraceFormat& format) {
  return {{"schema_version", results::kSchemaVersion},
          {"kvsim_version", results::kvsim_version()},
          {"format", format.name},
          {"requests", s.requests},
          {"span_s", s.span_s},
          {"rate_per_s", s.rate_per_s},
          {"gap_cv", s.gap_cv},
          {"prompt_tokens", as_json(s.prompt)},
          {"output_tokens", as_json(s.output)},
          {"block_tokens", format.block_tokens},
          {"blocks", s.blocks},
          {"distinct_blocks", s.distinct_blocks},
          {"block_reuse", s.block_reuse},
          {"token_reuse", s.token_reuse}};
}

results::Page as_page(const std::string& trace, const TraceStatistics& s, const models::TraceFormat& format) {
  using namespace results;
  Page page;
  page.title = trace;
  Table arrivals = key_figures("Arrivals");
  arrivals.rows = {{"requests", whole(s.requests)},
                   {"span", seconds(s.span_s)},
                   {"rate", figure(s.rate_per_s), "", "/s"},
                   {"variation of gaps", figure(s.gap_cv), "", "standard deviation / mean; 1 for Poisson arrivals"}};
  Table lengths{"Tokens", {"", "mean", "p50", "p99", "min", "max"}, {}, {}};
  lengths.align.assign(lengths.header.size(), Align::right);
  lengths.align.front() = Align::left;
  const auto add = [&lengths](const char* label, const LengthStatistics& l) {
    lengths.rows.push_back({label, figure(l.mean), figure(l.p50), figure(l.p99), whole(l.min), whole(l.max)});
  };
  add("prompt", s.prompt);
  add("output", s.output);
  page.tables = {arrivals, lengths};
  if (s.blocks > 0) {
    Table reuse = key_figures("Prefix reuse in a cache that never evicts");
    reuse.rows = {{"blocks", whole(s.blocks), "",
                   fmt::format("of {} tokens, {} distinct", format.block_tokens, whole(s.distinct_blocks))},
                  {"reused blocks", percent(s.block_reuse)},
                  {"reused prompt tokens", percent(s.token_reuse)}};
    page.tables.push_back(reuse);
  }
  return page;
}

void info(Console& console, const Options& options) {
  const models::TraceFormat& format = models::find_trace_format(options.format);
  check_curve_options(options.curves, format);
  models::TraceOptions reading;
  reading.max_requests = options.max_requests;
  const auto requests = models::read_trace(format, options.trace, reading);
  const TraceStatistics s = models::describe_trace(requests, format.block_tokens);
  const auto curves = trace_curves(requests, format, options.curves);
  if (options.json) {
    results::Json document = as_json(s, format);
    if (curves) add_to(document, *curves);
    console.print(results::json_text(document));
  } else {
    results::Page page = as_page(options.trace, s, format);
    if (curves) add_to(page, *curves);
    console.print(page);
  }
}

std::string policy_names() {
  std::vector<std::string_view> names;
  for (const cache::EvictionPolicyEntry& policy : cache::eviction_policies()) names.push_back(policy.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.require_subcommand(1);
  CLI::App* sub = app.add_subcommand("info", "Describe a recorded trace");
  sub->footer(
      "Examples:\n  kvsim workload info trace.jsonl --format mooncake\n"
      "  kvsim workload info trace.jsonl --format mooncake --curve --policies lru,sieve,belady\n"
      "  kvsim workload info trace.jsonl --format mooncake --curve --model llama-3.1-8b --read \"20 GB/s\" "
      "--prefill 10000/s");
  sub->add_option("TRACE", options->trace, "The trace")->required()->type_name("FILE");
  sub->add_option("--format", options->format, "One of `kvsim list traces`")->required()->type_name("F");
  add_whole_number(
      *sub, "--max-requests", 0, std::numeric_limits<std::int64_t>::max(),
      [options](std::int64_t n) { options->max_requests = static_cast<std::uint64_t>(n); },
      "Only the first so many; 0: all");
  CurveOptions& curves = options->curves;
  sub->add_flag("--curve", curves.curve, "Hit rate of a prefix cache against its capacity");
  sub->add_option("--policies", curves.policies,
                  fmt::format("With --curve: hit rates under these eviction policies: {}", policy_names()))
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("P,...");
  sub->add_option("--model", curves.model, "With --curve: capacities in bytes of this model's KV")->type_name("NAME");
  sub->add_option("--read", curves.read,
                  "With --curve, --model and --prefill: mean time to the first token where the cache is read at this "
                  "bandwidth, e.g. \"20 GB/s\"")
      ->type_name("BANDWIDTH");
  sub->add_option("--prefill", curves.prefill, "Tokens per second at which the rest is prefilled, e.g. 10000/s")
      ->type_name("RATE");
  sub->add_flag("--json", options->json, "Print one JSON document");
  return [options](Console& console) { info(console, *options); };
}

}  // namespace
}  // namespace workload_internal

extern const Command workload_command;
const Command workload_command{"workload", "Work with recorded workloads",
                               "kvsim workload info trace.jsonl --format mooncake", workload_internal::declare};

}  // namespace kvsim::cli
