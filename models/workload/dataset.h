// A data set of contexts as data: how long they are, and how much of an answer's quality compressing them costs.
#pragma once

#include <string>

#include "models/schema/sourced.h"
#include "models/workload/distributions.h"

namespace kvsim::models {

struct DatasetSpec {
  std::string name;
  std::string description;
  schema::Sourced<double> mean_tokens;  ///< of a context
  schema::Sourced<double> tokens_cv;    ///< standard deviation / mean, over contexts
  schema::Sourced<double> sensitivity;  ///< median over contexts of the share of the score lost with 90 % of the tokens
                                        ///< removed by KeyDiff
  schema::Sourced<double> loss_cv;      ///< standard deviation / median of that loss over contexts
};

/// Log-normal lengths with the data set's mean and coefficient of variation; all alike where that is 0.
[[nodiscard]] LengthSpec lengths_of(const DatasetSpec& dataset);

}  // namespace kvsim::models
