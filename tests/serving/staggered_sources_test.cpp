// The staggered schedule with every source of full KV: what it starts takes no more of an iteration than the iteration
// has for loads, and no more memory than is free, whatever loads are counted in.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "sim/instance/full_kv_source.h"
#include "sim/instance/kv_transfers.h"
#include "sim/serving/admit.h"
#include "sim/serving/schedule_policy.h"
#include "sim/transport/fabric.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::Action;
using serving::Reload;
using serving::Request;

constexpr double kIteration = 0.01;

/// Tiers whose links bring a token's KV in 2 us.
class SlowTiers final : public serving::PromptStore {
 public:
  [[nodiscard]] double load_missing_s(const Request& r) const override {
    return 2e-6 * static_cast<double>(r.prefix->missing);
  }
};

/// A replica's policy, asked about all of its requests in every iteration, whose loads take as long as believed.
class Staggered {
 public:
  explicit Staggered(serving::FullKv from)
      : scenario_(small_scenario({"schedule={policy: staggered, arrival: whole}"})),
        decode_(*serving::find_decode_policy("draft_verify")),
        geometry_(serving::configured_geometry(scenario_.serving, scenario_.serving.cluster.groups.front())),
        memory_(simulator_, "replica 0", kMemory, 0, nullptr),
        link_(serving::make_host_link(fabric_, scenario_.serving, scenario_.serving.cluster.groups.front(), decode_,
                                      "replica 0")),
        policy_(serving::find_schedule_policy("staggered")->make(scenario_.serving.schedule)) {
    decode_.full_kv = from;
    source_ = serving::make_full_kv_source(
        {scenario_.serving, geometry_, memory_, link_.to_gpu, prompts_, measured_, {}}, decode_);
  }

  void add(std::int64_t prompt, std::int64_t missing) {
    Request& r = requests_.emplace_back();
    r.id = requests_.size();
    r.prompt = r.prefill.target = prompt;
    r.output = 1000;
    r.prefix.edit().missing = missing;
    r.round.target = 20;
    r.prefill.assembly = std::make_unique<serving::PromptAssembly>();
    r.prefill.assembly->rows = 1;
    EXPECT_TRUE(policy_->admit(r, 0, view()));
  }

  /// An iteration. Precondition: its requests draft.
  void step() {
    policy_->pass(1);
    now_ += 1;
    for (Request& r : requests_) {
      if (r.round.reload == Reload::in_flight && arrives_[r.id] <= now_) r.round.reload = Reload::arrived;
    }
    const serving::ReplicaView v = view();
    serving::IterationPlan plan;
    plan.decisions.resize(v.asked.size());
    policy_->plan(v, plan);
    for (const auto& wish : plan.reloads) start(requests_[wish.request->id - 1], v);
    std::size_t i = 0;
    for (Request& r : requests_) {
      const Action action = plan.decisions[i++].action;
      if (action == Action::draft && !r.full_kv.direct) r.round.drafted += 1;
      if (action == Action::verify) verify(r, v);
    }
  }

  /// No iteration has more loads than it has room for, and no more memory is taken.
  void check() const {
    for (const double used : loads_) EXPECT_LE(used, most_ * (1 + 1e-9));
    EXPECT_LE(peak_bytes_, kMemory);
  }

  std::int64_t verifications = 0, first_at = 0, last_first_at = 0;

 private:
  static constexpr std::int64_t kMemory = 12'000'000'000;

  serving::ReplicaView view() {
    all_.clear();
    for (const Request& r : requests_) all_.push_back(&r);
    serving::ReplicaView v;
    v.decoding = v.asked = all_;
    v.iteration_s = kIteration;
    v.loads_each = source_->loads_each(kIteration, static_cast<std::int64_t>(all_.size()));
    v.kv_capacity = kMemory;
    v.draft_limit = 40;
    v.full_kv = source_.get();
    return v;
  }

  void start(Request& r, const serving::ReplicaView& v) {
    EXPECT_FALSE(r.full_kv.direct);
    r.round.reload = Reload::in_flight;
    const double load = source_->load(r);
    const std::int64_t span = serving::span_windows(load, v.loads_each);
    loads_.resize(std::max(loads_.size(), static_cast<std::size_t>(now_ + span)));
    for (std::int64_t i = now_; i < now_ + span; ++i) {
      loads_[static_cast<std::size_t>(i)] += load / static_cast<double>(span);
    }
    most_ = std::max(most_, v.loads_each);
    arrives_.resize(requests_.size() + 1);
    arrives_[r.id] = now_ + span;
    staged_ += source_->reservation(r);
    peak_bytes_ = std::max(peak_bytes_, staged_);
  }

  void verify(Request& r, const serving::ReplicaView& v) {
    EXPECT_EQ(r.round.reload, Reload::arrived);
    staged_ -= source_->reservation(r);
    verifications += 1;
    if (first_at == 0) first_at = now_;
    if (r.generated == 0) last_first_at = now_;
    r.generated += r.round.drafted + 1;
    r.round.drafted = 0;
    r.round.reload = Reload::none;
    source_->verified(r, false);
    policy_->verified(r, v);
  }

  scenario::Scenario scenario_;
  serving::DecodePolicy decode_;
  serving::KvGeometry geometry_;
  engine::Simulator simulator_;
  transport::Fabric fabric_{simulator_, nullptr};
  serving::KvHoldings memory_;
  serving::KvLink link_;
  SlowTiers prompts_;
  serving::Measurements measured_;
  std::unique_ptr<serving::SchedulePolicy> policy_;
  std::unique_ptr<serving::FullKvSource> source_;
  std::deque<Request> requests_;
  std::vector<const Request*> all_;
  std::vector<std::int64_t> arrives_;  // by request
  std::vector<double> loads_;          // by iteration
  double most_ = 0;
  std::int64_t now_ = 0, staged_ = 0, peak_bytes_ = 0;
};

TEST(StaggeredSources, NoLinkAndNoStepIsPromisedTwice) {
  for (const auto from : {serving::FullKv::host_copies, serving::FullKv::tiers, serving::FullKv::recomputed}) {
    std::mt19937_64 draw(7);
    Staggered replica(from);
    constexpr int kRequests = 12, kSteps = 400;
    for (int i = 0; i < kRequests; ++i) {
      const auto prompt = static_cast<std::int64_t>(2000 + draw() % 12'000);
      replica.add(prompt, prompt / 2);
      for (int step = 0; step < 3; ++step) replica.step();
    }
    for (int step = 0; step < kSteps; ++step) replica.step();
    replica.check();
    // A prompt that was computed whole needs no further verification.
    if (from == serving::FullKv::recomputed) {
      EXPECT_EQ(replica.verifications, kRequests);
    } else {
      EXPECT_GT(replica.verifications, 4 * kRequests);
    }
  }
}

TEST(StaggeredSources, AFirstVerificationComesAsEarlyAsItsLoadAllows) {
  // 8,000 tokens: 16 ms of 2 us each, or four steps of 2,048 but for the token that the request itself decodes.
  Staggered tiers(serving::FullKv::tiers), recomputed(serving::FullKv::recomputed);
  for (Staggered* replica : {&tiers, &recomputed}) {
    replica->add(8000, 8000);
    for (int step = 0; step < 10; ++step) replica->step();
  }
  EXPECT_EQ(tiers.first_at, 1 + 2);
  EXPECT_EQ(recomputed.first_at, 1 + 4);
}

TEST(StaggeredSources, PromptsAreComputedOneAfterTheOther) {
  Staggered replica(serving::FullKv::recomputed);
  for (int i = 0; i < 5; ++i) replica.add(8000, 8000);
  for (int step = 0; step < 40; ++step) replica.step();
  EXPECT_EQ(replica.verifications, 5);
  EXPECT_EQ(replica.first_at, 1 + 4);
  EXPECT_EQ(replica.last_first_at, 1 + 5 * 4);
  replica.check();
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
