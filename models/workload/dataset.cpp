#include "models/workload/dataset.h"

namespace kvsim::models {

LengthSpec lengths_of(const DatasetSpec& dataset) {
  LengthSpec lengths;
  lengths.mean = dataset.mean_tokens.value;
  if (dataset.tokens_cv.value > 0) {
    lengths.distribution = LengthDistribution::lognormal;
    lengths.cv = dataset.tokens_cv.value;
  }
  return lengths;
}

}  // namespace kvsim::models
