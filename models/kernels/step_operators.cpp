#include "models/kernels/step_operators.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "models/kernels/step_account.h"

namespace kvsim::models {
namespace {

constexpr std::array kClasses{&StepTime::linear_s, &StepTime::attention_s, &StepTime::collectives_s,
                              &StepTime::overhead_s};

void note_shares(const StepSetup& setup, double flops_per_s, StepOperator& of) {
  if (of.seconds <= 0 || flops_per_s <= 0) return;
  of.memory_share = of.bytes / setup.gpu.memory_bytes_per_s.value / of.seconds;
  of.flops_share = of.flops / flops_per_s / of.seconds;
}

/// Rounds seconds to the last place of their total. Then any sum of them is exact, and the longest takes what is left.
void round_to(double total_s, std::vector<StepOperator>& operators) {
  double left_s = total_s;
  for (StepOperator& o : operators) {
    o.seconds = total_s + o.seconds - total_s;
    left_s -= o.seconds;
  }
  const auto longest = std::max_element(operators.begin(), operators.end(),
                                        [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  if (longest != operators.end()) longest->seconds += left_s;
  for (StepOperator& o : operators) o.share = total_s > 0 ? o.seconds / total_s : 0;
}

}  // namespace

std::vector<StepOperator> StepTimer::operators(const StepWork& work) const {
  const SharedWork shared = tensor_only() ? SharedWork{work, work.tokens()} : shared_work(work, setup_.parallel);
  const TokenTime by_tokens = token_time(work);
  const auto step_of = [&](const StepWork& rank) { return RankStep{setup_, rank, rank.tokens(), shared.tokens}; };
  const auto total_s = [&](const StepWork* rank) { return time_of(step_of(*rank), by_tokens).total_s; };
  const StepWork* longest = &shared.rank;
  for (const StepWork& other : shared.others) {
    if (total_s(&other) > total_s(longest)) longest = &other;
  }

  const std::vector<UsedFigure> figures = used_figures(setup_.gpu, profile(), model(), setup_.parallel.tensor);
  std::array<std::vector<StepOperator>, kClasses.size()> by_class;
  StepTime sum;
  const auto list = [&](const RankStep& step, const auto& op) {
    using Operator = std::decay_t<decltype(op)>;
    const double before_s = sum.*Operator::kClass;
    op.add(step, sum);
    const double seconds = sum.*Operator::kClass - before_s;
    if (seconds <= 0) return;
    StepOperator row = listed(Operator::kName, seconds, op.load(step), Operator::kBoundBy, op.origin(step, figures));
    std::vector<StepOperator> rows;
    if constexpr (std::is_same_v<Operator, LinearLayers>) rows = op.take_experts(step, figures, row);
    rows.insert(rows.begin(), row);
    for (StepOperator& o : rows) note_shares(setup_, op.flops_per_s(setup_), o);
    const auto at = std::find(kClasses.begin(), kClasses.end(), Operator::kClass) - kClasses.begin();
    std::vector<StepOperator>& of_class = by_class[static_cast<std::size_t>(at)];
    of_class.insert(of_class.end(), rows.begin(), rows.end());
  };
  const RankStep of_tokens = step_of(shared.rank), of_work = step_of(*longest);
  if (of_tokens.tokens > 0) each_by_tokens([&](const auto& op) { list(of_tokens, op); });
  sum.overhead_s += work.extra_gpu_s;
  if (of_work.tokens > 0) each_by_work([&](const auto& op) { list(of_work, op); });
  if (work.extra_gpu_s > 0) {
    by_class.back().push_back(listed("extra kernels", work.extra_gpu_s, {}, "", {"caller"}));
  }

  const StepTime step = time(work, by_tokens);
  const double waited_s = step.total_s - total_s(longest);
  std::vector<StepOperator> all;
  for (std::size_t i = 0; i < by_class.size(); ++i) {
    const bool waits = kClasses[i] == Collectives::kClass && waited_s > 0;
    if (waits && by_class[i].empty()) {  // a pipeline of single GPUs
      by_class[i].push_back(listed(Collectives::kName, 0, collectives_.load(of_tokens), Collectives::kBoundBy,
                                   collectives_.origin(of_tokens, figures)));
    }
    if (waits) by_class[i].front().seconds += waited_s;
    all.insert(all.end(), by_class[i].begin(), by_class[i].end());
  }
  round_to(step.total_s, all);
  return all;
}

std::vector<StepOperator> step_operators(const GpuSpec& gpu, const Interconnect& links, const KernelProfile& profile,
                                         const LlmSpec& model, const Parallelism& parallel, const StepWork& step) {
  const auto on = [&](double memory, double arithmetic) {
    return StepTimer(faster_gpu(gpu, memory, arithmetic), links, profile, model, parallel).operators(step);
  };
  std::vector<StepOperator> operators = on(1, 1);
  const std::array<std::vector<StepOperator>, 4> twice{{{}, on(2, 1), on(1, 2), on(2, 2)}};  // by memory and arithmetic
  for (StepOperator& o : operators) {
    if (o.binds != kBoundByKernels) continue;
    const auto [bound, saved] = shared_out<2>([&](const std::array<bool, 2>& of) {
      const std::vector<StepOperator>& there = twice[(of[0] ? 1U : 0U) + (of[1] ? 2U : 0U)];
      const auto same = std::find_if(there.begin(), there.end(), [&o](const auto& p) { return p.name == o.name; });
      return same == there.end() ? 0 : std::clamp(1 - same->seconds / o.seconds, 0.0, kSavedByTwice);
    });
    constexpr double kMostOfIt = 0.5;
    if (bound[0] + bound[1] >= kMostOfIt) o.binds = bound[0] >= bound[1] ? "memory" : "arithmetic";
  }
  return operators;
}

}  // namespace kvsim::models
