#include "planner/paths/scenario_problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/schema/units.h"
#include "planner/infeasible.h"
#include "planner/paths/path_costs.h"
#include "sim/pools/configuration.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/step_parts.h"

namespace kvsim::planner {
namespace {

constexpr double kLeastToken = 1e-12;  // seconds; a step of more requests takes longer, if only by this
// Behaviour of sim/pools' nodes: a reload starts two of its lengths before its drafts are due, and what is to be done
// waits for the end of the step under way, half of one on average.
constexpr double kReloadLead = 2;
constexpr double kJoining = 0.5;

/// The straight line nearest to times at three batches.
StepLine line_through(const std::array<double, 3>& batches, const std::array<double, 3>& times) {
  double b = 0, t = 0, bb = 0, bt = 0;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    b += batches[i] / 3;
    t += times[i] / 3;
  }
  for (std::size_t i = 0; i < batches.size(); ++i) {
    bb += (batches[i] - b) * (batches[i] - b);
    bt += (batches[i] - b) * (times[i] - t);
  }
  const double slope = std::max(kLeastToken, bt / bb);
  return {std::max(0.0, t - slope * b), slope};
}

/// A pool's nodes: their link, and their memory in requests of the mean length.
struct Side {
  Side(const serving::ServingConfig& config, const serving::InstancePool& pool, std::int64_t tokens)
      : group(pool.group),
        link(pool.link.spec),
        geometry(serving::configured_geometry(config, group)),
        capacity(serving::kv_capacity_bytes(config, group, geometry)),
        slot_bytes(geometry.full_reservation(tokens)),
        by_memory(static_cast<double>(capacity / slot_bytes)) {}

  const serving::GroupConfig& group;
  const models::LinkSpec& link;
  serving::KvGeometry geometry;
  std::int64_t capacity;  // bytes
  std::int64_t slot_bytes;
  double by_memory;  // requests
};

class Derivation {
 public:
  Derivation(const scenario::Scenario& scenario, StepsOf lines)
      : config_(scenario.serving),
        topology_(config_.cluster.topology()),
        drafts_(serving::find_decode_policy(config_.decode.policy)->verifies),
        x_(config_.decode.draft_length),
        lines_(lines),
        traffic_(traffic_of(scenario)),
        prompt_(std::llround(traffic_.mean_context)),
        output_(std::max<std::int64_t>(1, std::llround(traffic_.mean_output))),
        local_(config_, topology_.instances.front(), prompt_ + output_),
        remote_(config_, topology_.instances.back(), prompt_ + output_),
        geometry_(local_.geometry) {}

  PathProblem problem() {
    refuse_what_does_not_fit();
    PathProblem p;
    p.residence = Residence::steps;
    p.pools = {local_.group.count, remote_.group.count};
    const auto full = static_cast<double>(geometry_.full_transfer(prompt_));
    p.request = {output_, drafts_ ? static_cast<double>(geometry_.compressed_transfer(prompt_, 0)) / full : 1.0, x_};
    p.acceptance = acceptance();
    p.symbols.M = static_cast<double>(config_.model.weight_bytes());
    const Side& described = local_.group.count > 0 ? local_ : remote_;  // costs come from `steps`, by pool
    p.symbols.KV = static_cast<double>(described.slot_bytes);
    p.symbols.HBM = p.symbols.M + static_cast<double>(described.capacity);
    p.symbols.BW_hbm =
        static_cast<double>(described.group.parallel.tensor) * described.group.gpu.memory_bytes_per_s.value;
    p.symbols.BW_h = rate(local_);
    p.symbols.BW_l = rate(remote_);
    p.steps = costs(p);
    for (const Path path : pools::usable_paths(config_)) {
      if (fits(path, *p.steps)) p.paths.push_back(path);
    }
    return p;
  }

 private:
  void refuse_what_does_not_fit() const {
    for (const Side* side : {&local_, &remote_}) {
      if (side->group.count == 0 || side->slot_bytes <= side->capacity) continue;
      throw Infeasible(fmt::format(
          "no plan: the KV of one request ({} tokens of context, {} of output) takes {:.4g} GB, and a node "
          "has {:.4g} GB for KV; a larger tensor-parallel group or memory_fraction would make room",
          prompt_, output_, static_cast<double>(side->slot_bytes) / kGB, static_cast<double>(side->capacity) / kGB));
    }
  }

  [[nodiscard]] static bool fits(Path path, const StepCosts& c) {
    const models::PathTraits& t = traits(path);
    if (!t.drafts) return true;
    const double local = t.cached ? c.verifying_slots : c.rereading_slots;
    const double remote = t.streams_rest ? c.streaming_slots : c.drafting_slots;
    return local <= c.slots.local && remote <= c.slots.remote;
  }

  /// As plain symbols can say it.
  [[nodiscard]] models::AcceptanceSpec acceptance() const {
    models::AcceptanceSpec spec = config_.decode.acceptance;
    if (drafts_ && spec.kind != models::AcceptanceKind::compressor) return spec;
    spec.kind = models::AcceptanceKind::constant;
    spec.agreement = drafts_ ? config_.decode.compressor.agreement_at(geometry_.compressed().ratio()) : 1.0;
    return spec;
  }

  /// Bytes per second of one load with nothing else under way.
  [[nodiscard]] double rate(const Side& pool) const {
    double rate = pool.link.read_bytes_per_s.value;
    if (pool.group.shared_bytes_per_s) rate = std::min(rate, *pool.group.shared_bytes_per_s);
    if (topology_.memory.read_bytes_per_s) rate = std::min(rate, *topology_.memory.read_bytes_per_s);
    return rate;
  }

  [[nodiscard]] double busy_links(const Side& pool) const {
    const auto nodes = static_cast<double>(pool.group.count);
    return pool.group.shared_bytes_per_s ? std::min(nodes, *pool.group.shared_bytes_per_s / rate(pool)) : nodes;
  }

  [[nodiscard]] LoadCost load(const Side& pool, std::int64_t size) const {
    const auto bytes = static_cast<double>(size);
    return {bytes, bytes / rate(pool), pool.link.latency_s.value + pool.link.setup_s.value};
  }

  StepCosts costs(const PathProblem& p) const {
    StepCosts c;
    set_memory(c);
    set_steps(c);
    c.local_full = load(local_, geometry_.full_transfer(prompt_));
    c.remote_full = load(remote_, geometry_.full_transfer(prompt_));
    c.links = {busy_links(local_), busy_links(remote_)};
    const double all = c.links.local * p.symbols.BW_h + c.links.remote * p.symbols.BW_l;
    if (topology_.memory.read_bytes_per_s && *topology_.memory.read_bytes_per_s < all) {
      c.storage_bytes_per_s = *topology_.memory.read_bytes_per_s;
    }
    if (drafts_) set_drafting(c, p);
    return c;
  }

  void set_drafting(StepCosts& c, const PathProblem& p) const {
    const ExpectedRounds rounds = expected_rounds({p.acceptance, 1, x_}, x_, traffic_.outputs);
    c.rounds = rounds.rounds;
    c.drafts = rounds.drafts;
    c.reread_held = kReloadLead;
    c.joining = lines_ == StepsOf::one_request ? 0.0 : kJoining;
    c.round_trip_s = 2 * topology_.message_latency_s;
    c.local_reread = load(local_, geometry_.full_transfer(prompt_ + generated_before_a_round(c.rounds)));
    c.remote_compressed = load(remote_, geometry_.compressed_transfer(prompt_, 0));
    c.remote_rest = load(remote_, geometry_.full_transfer(prompt_) - geometry_.compressed_transfer(prompt_, 0));
    const models::StepTimer timer = serving::step_timer(config_, remote_.group, remote_.group.parallel.tensor);
    c.decompress_s = serving::decompression_s(config_, remote_.group, remote_.geometry, timer, prompt_);
    const auto slots = [&](const Side& side, std::int64_t tokens) {
      return slots_of(side, side.geometry.full_reservation(tokens));
    };
    const std::int64_t whole = output_ + x_ + 1;
    const auto resident =
        static_cast<std::int64_t>(std::ceil(resident_tokens(config_.decode.compressor, geometry_, prompt_)));
    c.drafting_slots = slots(remote_, resident + whole);
    c.streaming_slots = slots(remote_, prompt_ + whole);
    c.verifying_slots = slots(local_, prompt_ + whole);
    c.rereading_slots = slots(local_, prompt_ + generated_before_a_round(c.rounds) + x_ + 1);
    c.held_slots = held_beside_a_reload(geometry_.full_reservation(prompt_ + whole));
  }

  /// A node that serves nobody takes whoever fits, which is next to nothing on average.
  [[nodiscard]] double held_beside_a_reload(std::int64_t reload) const {
    constexpr double kNextToNone = 1e-3;
    const auto whole = static_cast<double>(std::max<std::int64_t>(0, local_.capacity - reload) / local_.slot_bytes);
    return std::clamp(whole, kNextToNone, static_cast<double>(config_.schedule.max_requests));
  }

  /// Tokens, over all rounds of a request: 0 before the first, as many less than all of them before the last.
  [[nodiscard]] std::int64_t generated_before_a_round(double rounds) const {
    return std::llround(static_cast<double>(output_) * (1 - 1 / rounds) / 2);
  }

  /// Slots of a node, where both memory and the number of running requests limit them.
  [[nodiscard]] double slots_of(const Side& side, std::int64_t bytes) const {
    const double slots = most_requests(side);
    return std::max(static_cast<double>(bytes) / static_cast<double>(side.slot_bytes) * slots / side.by_memory,
                    slots / static_cast<double>(config_.schedule.max_requests));
  }
  [[nodiscard]] double most_requests(const Side& side) const {
    return std::min(side.by_memory, static_cast<double>(config_.schedule.max_requests));
  }

  void set_memory(StepCosts& c) const { c.slots = {most_requests(local_), most_requests(remote_)}; }

  /// Steps of one of the pool's nodes, and the batches through which their line goes.
  struct Steps {
    Steps(const Derivation& of, const Side& side)
        : of_node(of.config_, side.group, side.geometry, of.traffic_),
          most(of.lines_ == StepsOf::one_request ? 2.0 : std::max(2.0, of.most_requests(side))),
          middle(of.lines_ == StepsOf::one_request ? 1.0 : (1 + most) / 2),
          line(line_through({1, middle, most},
                            {of_node.seconds(1, 0, 0), of_node.seconds(middle, 0, 0), of_node.seconds(most, 0, 0)})) {}

    /// Seconds as decoded tokens.
    [[nodiscard]] double work(double more_s) const { return std::max(kLeastToken, more_s) / line.token_s; }

    NodeSteps of_node;
    double most, middle;
    StepLine line;
  };

  void set_steps(StepCosts& c) const {
    const Steps local(*this, local_), remote(*this, remote_);
    c.local = local.line;
    c.remote = remote.line;
    if (!drafts_) return;
    const NodeSteps &verifying = local.of_node, &drafting = remote.of_node;
    if (lines_ == StepsOf::one_request) {
      c.draft_work = remote.work(drafting.seconds(0, 1, 0) - c.remote.base_s);
      c.verify_work = local.work(verifying.seconds(0, 0, 1) - c.local.base_s);
      return;
    }
    const double most = remote.most, middle = local.middle;
    c.draft_work = remote.work((drafting.seconds(0, most, 0) - drafting.seconds(0, 1, 0)) / (most - 1));
    // Alone it brings a step about, beside others it makes one longer; a plan has both.
    const double alone = verifying.seconds(0, 0, 1) - c.local.base_s;
    const double beside = verifying.seconds(middle, 0, 1) - verifying.seconds(middle, 0, 0);
    c.verify_work = local.work((alone + beside) / 2);
  }

  const serving::ServingConfig& config_;
  serving::Topology topology_;
  bool drafts_;
  std::int64_t x_;
  StepsOf lines_;
  Traffic traffic_;
  std::int64_t prompt_;
  std::int64_t output_;
  Side local_, remote_;
  const serving::KvGeometry& geometry_;  // bytes that cross links, alike in both pools
};

}  // namespace

PathProblem path_problem(const scenario::Scenario& scenario, StepsOf lines) {
  return Derivation(scenario, lines).problem();
}

NodeSteps::NodeSteps(const serving::ServingConfig& config, const serving::GroupConfig& group,
                     const serving::KvGeometry& geometry, const Traffic& traffic)
    : config_(config),
      group_(group),
      geometry_(geometry),
      prompt_(std::llround(traffic.mean_context)),
      generated_(std::llround(traffic.mean_generated)),
      timer_(serving::step_timer(config, group, group.parallel.tensor)) {}

double NodeSteps::seconds(double decoding, double drafting, double verifying) const {
  const Requests full{prompt_, generated_, nullptr, false, config_.decode.draft_length};
  models::StepWork work = average_work(geometry_, config_, group_, full, decoding, verifying);
  const models::CompressorSpec& compressor = config_.decode.compressor;
  // Kept tokens are read by the compressor's kernel; quantised ones have been decompressed on arrival.
  const double factor =
      compressor.kind == models::CompressionKind::token_dropping ? compressor.attention_time_factor.value : 1.0;
  const double drafted = static_cast<double>(config_.decode.draft_length - 1) / 2;
  const double kept = resident_tokens(compressor, geometry_, prompt_);
  const double whole = static_cast<double>(generated_) + drafted;
  work.decode.query_tokens += drafting;
  work.decode.requests += drafting;
  work.decode.kv_bytes += drafting * (kept * factor + whole) * geometry_.full_read(1);
  work.decode.pairs += drafting * (kept + whole);
  work.logit_tokens += drafting;
  return timer_.time(work).total_s;
}

double resident_tokens(const models::CompressorSpec& compressor, const serving::KvGeometry& geometry,
                       std::int64_t prompt) {
  return compressor.kind == models::CompressionKind::token_dropping ? geometry.compressed().attended(prompt, 0)
                                                                    : static_cast<double>(prompt);
}

}  // namespace kvsim::planner
