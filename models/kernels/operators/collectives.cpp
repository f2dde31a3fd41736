#include "models/kernels/operators/collectives.h"

#include "models/kernels/operators/elementwise.h"

namespace kvsim::models {

Collectives::Collectives(const StepSetup& s)
    : exchanges_(s.parallel.attention_data > 1 ? static_cast<double>(s.model.routed_layers()) : 0),
      copy_(elementwise_form(s.profile)) {
  const auto times = [&s](Collective operation, std::int64_t gpus) {
    return CollectiveTimes(s.links, operation, s.profile.collective_library, gpus);
  };
  if (s.parallel.tensor > 1) {
    all_reduce_ = times(Collective::all_reduce, s.parallel.tensor);
    all_gather_ = times(Collective::all_gather, s.parallel.tensor);
  }
  if (exchanges_ > 0) {
    gather_tokens_ = times(Collective::all_gather, s.parallel.expert_gpus());
    scatter_tokens_ = times(Collective::reduce_scatter, s.parallel.expert_gpus());
  }
}

void Collectives::add(const RankStep& step, StepTime& time) const {
  const StepSetup& s = step.setup;
  const auto hidden = static_cast<double>(s.model.hidden);
  if (exchanges_ > 0) {
    const double all_bytes = step.all_tokens * hidden * kCarriedBytes;
    time.collectives_s = exchanges_ * (gather_tokens_.seconds(all_bytes) + scatter_tokens_.seconds(all_bytes));
  }
  if (s.parallel.tensor == 1) return;
  const double bytes = step.tokens * hidden * kCarriedBytes;
  double reduce_s = all_reduce_.seconds(bytes);
  // Outside a graph an all-reduce works on a copy of its message (measured on seven machines: what it takes beyond the
  // captured one is a copy at 0.74 to 0.91 of the memory bandwidth).
  if (step.tokens > static_cast<double>(s.profile.captured_tokens)) reduce_s += copy_.seconds(2 * bytes, s.machine);
  time.gathering_s = reduce_s;
  if (step.work.logit_tokens > 0) {
    time.gathering_s +=
        all_gather_.seconds(step.work.logit_tokens * static_cast<double>(s.model.vocabulary) * kCarriedBytes);
  }
  time.collectives_s += (all_reduces(s.model) - exchanges_) * reduce_s + time.gathering_s;
}

OperatorLoad Collectives::load(const RankStep& step) const {
  const LlmSpec& m = step.setup.model;
  const auto hidden = static_cast<double>(m.hidden);
  double elements = exchanges_ * 2 * step.all_tokens * hidden;
  if (step.setup.parallel.tensor > 1) {
    elements += (all_reduces(m) - exchanges_ + 1) * step.tokens * hidden +
                step.work.logit_tokens * static_cast<double>(m.vocabulary);
  }
  return {kCarriedBytes * elements};
}

Origin Collectives::origin(const RankStep& step, const std::vector<UsedFigure>&) const {
  const CollectiveTimes& times = step.setup.parallel.tensor > 1 ? all_reduce_ : gather_tokens_;
  if (times.source() != nullptr) return {"table", *times.source()};
  return {"estimate", step.setup.links.peer.read_bytes_per_s.source};
}

std::vector<std::string> Collectives::estimates() const {
  std::vector<std::string> all;
  for (const CollectiveTimes* times : {&all_reduce_, &all_gather_, &gather_tokens_, &scatter_tokens_}) {
    if (!times->estimate().empty()) all.push_back(times->estimate());
  }
  return all;
}

}  // namespace kvsim::models
