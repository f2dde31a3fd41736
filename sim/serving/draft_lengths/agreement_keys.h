// Keys of the draft length policies that estimate how often drafts agree.
#pragma once

#include "models/schema/own_keys.h"

namespace kvsim::serving {

struct AgreementKeys {
  double forgetting = 0.9;  ///< weight of the past per round, in [0, 1]
  double prior_tokens = 4;  ///< trials at the mean agreement that are taken as seen
};

schema::KeyFragment agreement_keys();

}  // namespace kvsim::serving
