#include "models/kernels/two_tokens.h"

#include <algorithm>

namespace kvsim::models {
namespace {

double step_s(const StepTimer& timer, const TwoTokenWork& work, double batch, double queries) {
  StepWork step;
  step.decode.requests = batch;
  step.decode.query_tokens = batch * queries;
  step.decode.kv_bytes = batch * work.kv_bytes_per_request;
  step.decode.pairs = batch * queries * work.context;
  step.logit_tokens = batch * queries;
  return timer.time(step).total_s;
}

}  // namespace

double two_token_cost(const StepTimer& timer, const TwoTokenWork& work, double batch) {
  return step_s(timer, work, batch, 2) / step_s(timer, work, batch, 1) - 1;
}

std::optional<std::int64_t> two_token_batch(const StepTimer& timer, const TwoTokenWork& work, std::int64_t limit,
                                            double threshold) {
  const auto costs = [&](std::int64_t batch) {
    return two_token_cost(timer, work, static_cast<double>(batch)) >= threshold;
  };
  std::int64_t below = 0;  // costs less, or is no batch
  std::int64_t above = 1;
  while (!costs(above)) {
    if (above == limit) return std::nullopt;
    below = above;
    above = above > limit / 2 ? limit : 2 * above;
  }
  while (above - below > 1) {
    const std::int64_t middle = below + (above - below) / 2;
    (costs(middle) ? above : below) = middle;
  }
  return above;
}

}  // namespace kvsim::models
