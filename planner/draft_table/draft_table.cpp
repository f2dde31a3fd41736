#include "planner/draft_table/draft_table.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "planner/infeasible.h"
#include "planner/plan/scenario_costs.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/draft_lengths/drafting.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/schedule_policy.h"
#include "sim/serving/step_parts.h"

namespace kvsim::planner {
namespace {

constexpr std::int64_t kShortestContext = 1024;

std::vector<std::int64_t> doubled(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> values;
  for (std::int64_t v = first; v < last; v *= 2) values.push_back(v);
  values.push_back(last);
  return values;
}

/// With the policy's own drafts, and room for the longest of the table where that is what a step has room for.
serving::ServingConfig searched(serving::ServingConfig config) {
  config.decode = serving::own_drafts(config.decode);
  if (serving::find_decode_policy(config.decode.policy)->proposes()) config.decode.draft_lengths.policy = "adaptive";
  return config;
}

class TableSearch {
 public:
  TableSearch(const scenario::Scenario& scenario, const Traffic& traffic)
      : config_(searched(scenario.serving)),
        decode_(*serving::find_decode_policy(config_.decode.policy)),
        geometry_(serving::configured_geometry(config_, config_.cluster.uniform())),
        timer_(serving::step_timer(config_, config_.cluster.uniform(), config_.cluster.uniform().parallel.tensor)),
        drafting_(config_, config_.cluster.uniform(), decode_),
        acceptance_(decode_.proposes() ? drafting_.acceptance()
                                       : serving::acceptance_of(config_, config_.decode.draft_lengths.maximum +
                                                                             config_.decode.draft_length)),
        generated_(std::llround(traffic.mean_generated)) {
    most_requests_ = config_.schedule.max_requests;
    if (traffic.concurrency) most_requests_ = std::min(most_requests_, *traffic.concurrency);
  }

  [[nodiscard]] std::int64_t fixed() const { return serving::fixed_draft_length(config_.decode); }
  [[nodiscard]] std::int64_t generated(std::int64_t context) const { return std::min(generated_, context / 2); }

  /// Requests of this context that GPU and host memory hold.
  [[nodiscard]] std::int64_t most_requests(std::int64_t context) const {
    const std::int64_t g = generated(context), prompt = context - g;
    const std::int64_t each =
        serving::decoding_reservation(decode_, geometry_, prompt, g, serving::draft_room(config_.decode, decode_));
    const std::int64_t reload = decode_.offloads() ? geometry_.reload_reservation(prompt, g) : 0;
    const std::int64_t room = serving::kv_capacity_bytes(config_, config_.cluster.uniform(), geometry_) - reload;
    std::int64_t most = std::min(most_requests_, std::max<std::int64_t>(room, 0) / each);
    if (decode_.offloads()) {
      const std::int64_t host = serving::host_reservation(config_, decode_, geometry_, prompt, 2 * g);
      most = std::min(most, config_.cluster.uniform().host_memory_bytes / host);
    }
    return most;
  }

  [[nodiscard]] DraftTableEntry best(std::int64_t batch, std::int64_t context) const {
    const serving::DraftLengthConfig& lengths = config_.decode.draft_lengths;
    DraftTableEntry best;
    const std::int64_t hidden = drafts_while_reloading(batch, context);
    for (std::int64_t x = std::max<std::int64_t>(lengths.minimum, decode_.verifies ? 1 : 0) + hidden;
         x <= lengths.maximum; ++x) {
      const serving::RoundRate rate = predicted(batch, context, x);
      if (rate.tokens_per_s <= best.rate.tokens_per_s) continue;
      best.row = {batch, context, x};
      best.rate = rate;
      best.accepted = acceptance_.expected_accepted(x);
    }
    best.row.draft_length -= hidden;
    best.fixed_gain = best.rate.tokens_per_s / predicted(batch, context, fixed() + hidden).tokens_per_s - 1;
    return best;
  }

 private:
  /// Where a reload is asked for only when the draft is complete, and the request drafts on until it is there, a round
  /// has these drafts beyond its length.
  [[nodiscard]] std::int64_t drafts_while_reloading(std::int64_t batch, std::int64_t context) const {
    const serving::DraftLengthConfig& lengths = config_.decode.draft_lengths;
    if (!serving::find_schedule_policy(config_.schedule.policy)->drafts_while_reloading) return 0;
    const serving::RoundRate rate = predicted(batch, context, lengths.maximum);
    if (!decode_.verifies || rate.link_s <= 0) return 0;
    const double one_s = rate.link_s / static_cast<double>(batch);
    return std::min<std::int64_t>(std::llround(drafting_.tokens_per_step() * one_s / rate.iteration_s),
                                  lengths.maximum - lengths.minimum);
  }

  [[nodiscard]] serving::RoundRate predicted(std::int64_t batch, std::int64_t context, std::int64_t x) const {
    const std::int64_t g = generated(context);
    return serving::predict_round(config_, config_.cluster.uniform(), decode_, geometry_, timer_, drafting_,
                                  {static_cast<double>(batch), context - g, g, x, acceptance_.expected_accepted(x)});
  }

  serving::ServingConfig config_;
  const serving::DecodePolicy& decode_;
  serving::KvGeometry geometry_;
  models::StepTimer timer_;
  serving::Drafting drafting_;
  models::AcceptanceModel acceptance_;
  std::int64_t generated_;
  std::int64_t most_requests_ = 1;
};

void check(const scenario::Scenario& scenario) {
  const serving::ServingConfig& c = scenario.serving;
  if (!serving::find_decode_policy(c.decode.policy)->drafts()) {
    throw schema::InputError(fmt::format(
        "--draft-table: decode policy {} drafts nothing: use draft_verify, sparse_self or drafter", c.decode.policy));
  }
  const serving::DecodePolicy& policy = *serving::find_decode_policy(c.decode.policy);
  if (serving::drafts_as_found(c, policy)) {
    throw schema::InputError(fmt::format(
        "--draft-table: {} drafts on prompts as they are stored or put together here, until the whole one is "
        "there: no table of lengths says how long that takes",
        policy.name));
  }
  if (!c.cluster.topology().independent()) {
    throw schema::InputError(
        "--draft-table: its rounds are those of replicas; between pools use decode.draft_lengths: {policy: adaptive}, "
        "or kvsim plan SCENARIO for requests/s by path");
  }
}

}  // namespace

DraftTable draft_table(const scenario::Scenario& scenario) {
  check(scenario);
  const serving::ServingConfig& config = scenario.serving;
  const Traffic traffic = traffic_of(scenario);
  check_context(scenario, traffic);
  const TableSearch search(scenario, traffic);
  const double longest_prompt = traffic.contexts.empty() ? traffic.named_context : traffic.contexts.back();
  const double longest_output =
      traffic.outputs.empty() ? traffic.mean_output : *std::max_element(traffic.outputs.begin(), traffic.outputs.end());
  DraftTable table;
  table.minimum = config.decode.draft_lengths.minimum;
  table.maximum = config.decode.draft_lengths.maximum;
  table.fixed = search.fixed();
  table.generated = std::llround(traffic.mean_generated);
  const std::int64_t longest =
      std::min<std::int64_t>(config.model.max_context, std::llround(longest_prompt + longest_output));
  table.contexts = doubled(std::min(kShortestContext, longest), longest);
  const std::int64_t most = search.most_requests(table.contexts.front());
  if (most < 1) {
    throw Infeasible(
        fmt::format("no table: memory holds no request of {} tokens: more GPU or host memory would make room",
                    table.contexts.front()));
  }
  table.batches = doubled(1, most);
  for (const std::int64_t batch : table.batches) {
    for (const std::int64_t context : table.contexts) {
      if (batch == 1 || batch <= search.most_requests(context)) table.entries.push_back(search.best(batch, context));
    }
  }
  return table;
}

std::string draft_table_yaml(const DraftTable& table) {
  std::string text = "  draft_lengths:\n    policy: table\n    table:\n";
  for (const DraftTableEntry& entry : table.entries) {
    text += fmt::format("      - {{batch: {}, context: {} tokens, draft_length: {}}}\n", entry.row.batch,
                        entry.row.context, entry.row.draft_length);
  }
  return text;
}

}  // namespace kvsim::planner
