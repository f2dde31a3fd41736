#include "tools/results/comparison.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/documents.h"
#include "tools/results/metrics.h"
#include "tools/results/provenance.h"
#include "tools/results/result_document.h"
#include "tools/results/run_page.h"
#include "tools/results/scenario_words.h"
#include "tools/results/shortfall.h"
#include "tools/results/time_account.h"

namespace kvsim::results {
namespace {

/// Policies with this mark, by column; only columns in which something is better.
Json marked(const Comparison& comparison, Mark mark) {
  const std::vector<Competitor> rows = competitors_of(comparison.outcomes);
  Json best = Json::object();
  for (const Column& column : columns_of(comparison)) {
    if (column.key.empty()) continue;
    const std::vector<Mark> marks = marks_of(column, rows);
    Json policies = Json::array();
    for (std::size_t i = 0; i < marks.size(); ++i) {
      if (marks[i] == mark) policies.push_back(comparison.outcomes[i].policy);
    }
    best[column.key] = std::move(policies);
  }
  return best;
}

std::vector<PriceRow> priced(const Comparison& comparison) {
  const serving::ClusterConfig& cluster = comparison.outcomes.front().scenario.serving.cluster;
  std::vector<PriceRow> list;
  for (PriceRow& row : machine_prices(cluster, comparison.prices)) list.push_back(std::move(row));
  if (!node_price(cluster)) list.push_back({"dram", kPerGbMonth, comparison.prices.dram});
  list.push_back({"ssd", kPerGbMonth, comparison.prices.ssd});
  return list;
}

const Outcome& baseline(const Comparison& comparison) {
  return comparison.outcomes.front();
}

const Fields<LeftOut> kLeftOutFields{{"policy", {kText, "a policy that cannot run on the scenario"}, &LeftOut::policy},
                                     {"reason", {kText, "why it cannot"}, &LeftOut::reason}};

/// In front of the figures, and behind them.
Fields<Comparison> front_fields() {
  return {{"scenario", {kText, "name of the scenario"}, [](const Comparison& c) { return baseline(c).scenario.name; }},
          {"seed",
           {kCount, "seed of arrivals and requests"},
           [](const Comparison& c) { return baseline(c).scenario.serving.run.seed; }},
          {"baseline", {kText, "the policy that speedups are over"}, [](const Comparison& c) {
             return baseline(c).policy;
           }}};
}

Fields<Comparison> back_fields() {
  using F = Field<Comparison>;
  return {F::values("best.*[]", {kText, "policies with the best figure of that column"},
                    [](const Comparison& c) { return marked(c, Mark::best); }),
          F::values("best_lossless.*[]", {kText, "the best with lossless output, where the best are lossy"},
                    [](const Comparison& c) { return marked(c, Mark::best_lossless); }),
          F::list("left_out", "policies that cannot run on the scenario", &Comparison::left_out, kLeftOutFields),
          F::list("prices", "what the costs rest on", priced, price_fields())};
}

}  // namespace

Metrics comparison_metrics() {
  static const Names policies{"policy", [](const Outcome& o) { return std::vector<std::string>{o.policy}; },
                              [](const scenario::Scenario&) { return std::vector<std::string>{}; }};
  static const Condition stores{"where prompts are stored or made of chunks",
                                [](const scenario::Scenario& s) { return s.serving.placement || s.workload.chunks; }};
  Metrics rows{{"speedup.*", kPlain, Better::more,
                "output tokens/s over those of the baseline, equal arrivals and seeds", [](const View& v) {
                  const auto value = speedup(v.outcome.result, v.baseline->result);
                  return value ? Figure{*value} : missing("the baseline has no output tokens in the measured time");
                }}};
  append(rows, when(stores, {{"ttft_speedup.*", kPlain, Better::more,
                              "mean time to the first token of the baseline over the policy's", [](const View& v) {
                                const auto value = ttft_speedup(v.outcome.result, v.baseline->result);
                                return value ? Figure{*value} : missing(kNothingFinished);
                              }}}));
  append(rows, {{"usd_per_1m_output_tokens.*", kDollars, Better::less,
                 "$/h / (output tokens/s x 3600) x 1e6: GPUs, host memory and storage", [](const View& v) {
                   const auto value = usd_per_million(v.outcome, *v.prices);
                   return value ? Figure{*value}
                                : missing("no price for this GPU, or no output tokens in the measured time");
                 }}});
  return for_each(policies, std::move(rows));
}

Json compare_document(const Comparison& comparison, bool timing) {
  const std::vector<Outcome>& outcomes = comparison.outcomes;
  const Outcome& first = outcomes.front();
  Json doc = results_document(outcomes, timing);
  Json results = std::move(doc["results"]);  // last of the figures, however many they are
  doc.erase("results");
  doc.update(object(front_fields(), comparison));
  Json reasons = Json::object();
  for (const Metric& row : comparison_metrics()) {
    if (!row.exists(first.scenario)) continue;
    Json& figures = doc[row.key.substr(0, row.key.find('.'))] = Json::object();
    for (const Outcome& o : outcomes) {
      Figure figure = row.figure({o, timing, o.policy, &first, &comparison.prices});
      if (figure.value.is_null()) reasons[row.path(o.policy)] = std::move(figure.reason);
      figures[o.policy] = std::move(figure.value);
    }
  }
  doc.update(object(back_fields(), comparison));
  doc["results"] = std::move(results);
  doc["details"] = {
      {"speedup", "output tokens/s over those of the baseline, equal arrivals and seeds"},
      {"usd_per_1m_output_tokens",
       "$/h / (output tokens/s x 3600) x 1e6; rent of the GPUs, and on top host memory (what KV reserved at most, with "
       "a margin, or the tier as it is) and storage tiers with a capacity"},
      {"best",
       "policies with the best figure of a column, ties within the digits of the table included; none where all are "
       "equal or fewer than two have one; latencies: of requests that finished, without policies that refused some, "
       "left most unfinished or were in no steady state"},
      {"best_lossless", "the same among policies of lossless output, where the best are lossy; else none"},
      {"left_out", "policies that cannot run on this scenario, and why"},
      {"reasons", reasons}};
  return doc;
}

KeyList comparison_keys() {
  KeyList keys = keys_of(front_fields());
  for (const KeyList& more : {keys_of(comparison_metrics()), keys_of(back_fields())}) {
    keys.insert(keys.end(), more.begin(), more.end());
  }
  keys.push_back({"results[]", {kResult, "the result of each policy"}});
  keys.push_back({"details.*", {kText, "what a word of the comparison means"}});
  return document_keys(std::move(keys));
}

namespace {

const Outcome* first_that_stores(const std::vector<Outcome>& outcomes) {
  const auto at = std::find_if(outcomes.begin(), outcomes.end(),
                               [](const Outcome& o) { return o.scenario.serving.placement.has_value(); });
  return at == outcomes.end() ? nullptr : &*at;
}

/// Decode policy of rows that name none behind a slash, where it is not full_kv.
std::string decoded_as(const std::vector<Outcome>& outcomes) {
  for (const Outcome& o : outcomes) {
    const std::string& decode = o.scenario.serving.decode.policy;
    const bool says = o.policy.find('/') != std::string::npos || o.policy.starts_with(decode);
    if (!says && decode != "full_kv") return fmt::format("decode policy {} where a row names none", decode);
  }
  return {};
}

/// Remarks beyond the columns: replications, refusals, wall time.
std::vector<std::string> remarks(const std::vector<Outcome>& outcomes, bool timing) {
  const Outcome& first = outcomes.front();
  const auto& run = first.scenario.serving.run;
  std::string line =
      fmt::format("seed {}, {} replication{}; {} measured after {} of warm-up", run.seed, first.result.replications,
                  first.result.replications == 1 ? "" : "s",
                  seconds(first.result.measured.measured_s / static_cast<double>(first.result.replications)),
                  seconds(run.warmup_s));
  if (timing) {
    double wall = 0;
    for (const Outcome& o : outcomes) wall += o.result.wall_s;
    line += fmt::format("; {} of simulation", seconds(wall));
  }
  return {line};
}

/// A row without figures, below which those of policies stand that share a decode or placement policy.
struct Label {
  std::string group;  ///< empty: the policy stands for itself
  std::string name;
};

constexpr std::size_t kLongName = 24;

/// Grouped, "draft_verify:staggered" becomes "staggered" below a line "draft_verify:"; a name too long to stand beside
/// its figures is parted likewise before its "+".
Label label_of(const std::string& policy, Labels labels) {
  if (labels == Labels::full) return {"", policy};
  const std::size_t colon = policy.find(':'), plus = policy.find('+');
  if (colon != std::string::npos) return {policy.substr(0, colon) + ":", "  " + policy.substr(colon + 1)};
  if (plus == std::string::npos || policy.size() <= kLongName) return {"", policy};
  return {policy.substr(0, plus), "  " + policy.substr(plus)};
}

Table policy_table(const std::vector<Outcome>& outcomes, const std::vector<Column>& columns,
                   const std::vector<std::vector<Mark>>& marks, Labels labels) {
  Table t;
  t.header = {"policy"};
  for (const Column& column : columns) t.header.push_back(column.header);
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  if (columns.back().kind == Kind::quality) t.align.back() = Align::left;
  std::string group;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Label label = label_of(outcomes[i].policy, labels);
    if (!label.group.empty() && label.group != group) {
      t.rows.push_back({label.group});
    }
    group = label.group;
    std::vector<Cell> row{label.name};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      row.push_back(columns[c].cells[i]);
      row.back().mark = mark_character(marks[c][i]);
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

bool any(const std::vector<std::vector<Mark>>& marks, Mark mark) {
  return std::any_of(marks.begin(), marks.end(), [mark](const std::vector<Mark>& column) {
    return std::find(column.begin(), column.end(), mark) != column.end();
  });
}

std::vector<std::string> mark_notes(const std::vector<std::vector<Mark>>& marks) {
  if (!any(marks, Mark::best)) return {};
  std::string note = "*: best of the column as printed (speedup follows from the column before it)";
  if (any(marks, Mark::best_lossless)) note += "; +: best with lossless output, where the best is lossy";
  return {note};
}

/// "full_kv (remote)": pools without an iteration in the measured time.
std::vector<std::string> idle_pools(const std::vector<Outcome>& outcomes) {
  std::vector<std::string> idle;
  for (const Outcome& o : outcomes) {
    for (const auto& [pool, m] : o.result.measured.pools) {
      if (m.iterations == 0) idle.push_back(fmt::format("{} ({})", o.policy, pool));
    }
  }
  return idle;
}

List columns_list(const Comparison& comparison, const std::vector<std::vector<Mark>>& marks) {
  List list{"Columns", mark_notes(marks)};
  for (std::string& note : column_notes(comparison)) list.items.push_back(std::move(note));
  const scenario::Scenario& first = comparison.outcomes.front().scenario;
  list.items.push_back(
      latency_note(rivals_of(comparison.outcomes), first.serving.placement.has_value() || first.workload.chunks));
  if (first.serving.slo.limits(serving::SloMetric::itl)) {
    list.items.push_back(fmt::format("ITL: {}", kItlJudged));
  }
  std::vector<std::pair<std::string, double>> launched;
  std::vector<std::string> saturated;
  for (const Outcome& o : comparison.outcomes) {
    const serving::Measurements& m = o.result.measured;
    const std::string text = saturated_text(serving::tokeniser_busy(m), serving::bottleneck(m).link_in_use);
    if (!text.empty()) saturated.push_back(fmt::format("{} ({})", o.policy, text));
    launched.emplace_back(o.policy,
                          static_cast<double>(m.launched_iterations) / static_cast<double>(m.iteration_s.count()));
  }
  if (std::string words = launched_words(std::move(launched)); !words.empty()) list.items.push_back(std::move(words));
  if (!saturated.empty()) {
    list.items.push_back(
        fmt::format("what binds is what never rests beside the iterations: {}", fmt::join(saturated, ", ")));
  }
  const bool by_node = node_price(first.serving.cluster).has_value();
  std::string price = fmt::format("$ per 1M: USD per million output tokens, at the {} below",
                                  by_node ? "price of a node" : "rent and the price of memory");
  if (const auto idle = idle_pools(comparison.outcomes); !idle.empty()) {
    price += fmt::format("; nodes that worked on nothing are paid for, too: {}", fmt::join(idle, ", "));
  }
  list.items.push_back(std::move(price));
  return list;
}

List policies_left_out(const Comparison& comparison) {
  List list{"Left out", {}};
  for (const LeftOut& l : comparison.left_out) list.items.push_back(fmt::format("{}: {}", l.policy, l.reason));
  return list;
}

List prices(const Comparison& comparison) {
  const serving::ServingConfig& c = comparison.outcomes.front().scenario.serving;
  std::vector<PriceRow> rows = priced(comparison);
  if (!first_that_stores(comparison.outcomes)) rows.pop_back();  // of SSD
  List list{"Prices", price_lines(rows)};
  if (std::string none = unpriced_line(c.cluster, comparison.prices, "column is"); !none.empty()) {
    list.items.push_back(std::move(none));
  }
  if (!c.cluster.topology().memory.capacity_bytes) {
    list.items.emplace_back(
        "storage node: without a capacity in the scenario, what its memory costs is not in the price");
  }
  return list;
}

}  // namespace

Page compare_page(const Comparison& comparison, bool timing, Labels labels) {
  const std::vector<Outcome>& outcomes = comparison.outcomes;
  const Outcome& first = outcomes.front();
  const serving::ServingConfig& c = first.scenario.serving;
  Page page;
  page.title = first.scenario.name;
  const std::vector<const serving::GroupConfig*> kinds = serving::kinds(c.cluster);
  std::string setup = fmt::format("{} on {}; KV capacity ", c.model.name, machines_text(c.cluster));
  for (const serving::GroupConfig* group : kinds) {
    const serving::KvCapacity& k = capacity_of(first, *group);
    setup += fmt::format("{}{}{} tokens in {} blocks of {}, {}", group == kinds.front() ? "" : "; ",
                         kinds.size() > 1               ? fmt::format("of a {} node ", group->name)
                         : kPools.holds(first.scenario) ? "of a node "
                                                        : "",
                         whole(k.tokens), whole(k.blocks), k.block_tokens, bytes(static_cast<double>(k.bytes)));
  }
  page.subtitle = {std::move(setup)};
  if (const Outcome* stores = first_that_stores(outcomes)) {
    page.subtitle.push_back(tiers_text(stores->scenario.serving));
    if (const std::string rest = decoded_as(outcomes); !rest.empty()) page.subtitle.push_back(rest);
  } else if (c.decode.compressor.name.empty()) {
    page.subtitle.emplace_back("no compressor");
  } else {
    page.subtitle.push_back(fmt::format("{}, {}, draft length {}", c.decode.compressor.name, kept_text(c.decode),
                                        draft_length_text(c.decode)));
  }
  for (std::string& line : remarks(outcomes, timing)) page.subtitle.push_back(std::move(line));
  for (const Outcome& o : outcomes) {
    if (std::string why = unsteady_state(o); !why.empty()) {
      page.subtitle.push_back(fmt::format("no steady state, {}: {}", o.policy, why));
    }
    const auto& slo = o.scenario.serving.slo;
    if (!slo.quality_floor && !slo.functional_floor) continue;
    if (const std::string below = floor_words(result_document(o, false)); !below.empty()) {
      page.subtitle.push_back(o.policy + below);
    }
  }

  const std::vector<Column> columns = columns_of(comparison);
  const std::vector<Competitor> rows = competitors_of(outcomes);
  std::vector<std::vector<Mark>> marks;
  marks.reserve(columns.size());
  for (const Column& column : columns) marks.push_back(marks_of(column, rows));
  // Names of prefill policies are short enough to stand whole.
  const bool whole_names = first.scenario.workload.chunks.has_value();
  if (whole_names) labels = Labels::full;
  page.tables = {policy_table(outcomes, columns, marks, labels)};
  const auto add_unmarked = [&](const std::vector<Column>& more, const char* title) {
    if (more.empty()) return;
    const std::vector<std::vector<Mark>> unmarked(more.size(), std::vector<Mark>(outcomes.size()));
    page.tables.push_back(policy_table(outcomes, more, unmarked, labels));
    page.tables.back().title = title;
  };
  add_unmarked(objective_columns(outcomes), "Objectives");
  add_unmarked(time_columns(outcomes),
               "Share of the GPUs' time, and how much faster the same iterations are with twice of it");
  page.lists = {columns_list(comparison, marks), policies_left_out(comparison), prices(comparison)};
  for (List& list : caveats(outcomes)) page.lists.push_back(std::move(list));
  return page;
}

}  // namespace kvsim::results
