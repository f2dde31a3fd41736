// Factories of the draft length policies. Internal to their table.
#pragma once

#include <memory>

#include "sim/serving/draft_lengths/draft_length_policy.h"

namespace kvsim::serving {

std::unique_ptr<DraftLengthPolicy> make_fixed_drafts(const DraftLengthParts& parts);
std::unique_ptr<DraftLengthPolicy> make_adaptive_drafts(const DraftLengthParts& parts);
std::unique_ptr<DraftLengthPolicy> make_table_drafts(const DraftLengthParts& parts);
std::unique_ptr<DraftLengthPolicy> make_goodput_drafts(const DraftLengthParts& parts);

}  // namespace kvsim::serving
