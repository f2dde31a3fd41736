#include <algorithm>

#include "models/kernels/step_time.h"

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

TwoTokenBatches two_token_batches(const StepTimer& timer, const TwoTokenWork& work, std::int64_t limit,
                                  double threshold) {
  constexpr std::int64_t kEvery = 1024;
  TwoTokenBatches found;
  for (std::int64_t batch = 1;;) {
    if (two_token_cost(timer, work, static_cast<double>(batch)) < threshold) {
      found.always.reset();
    } else {
      if (!found.first) found.first = batch;
      if (!found.always) found.always = batch;
    }
    if (batch == limit) return found;
    batch = std::min(limit, batch + (batch < kEvery ? 1 : batch / 100));
  }
}

}  // namespace kvsim::models
