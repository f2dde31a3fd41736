#include "sim/serving/draft_lengths/draft_length_policy.h"

#include <algorithm>
#include <array>

#include "sim/serving/draft_lengths/policies.h"

namespace kvsim::serving {
namespace {

std::int64_t maximum(const DecodeConfig& c) {
  return c.draft_lengths.maximum;
}

std::int64_t longest_of_table(const DecodeConfig& c) {
  std::int64_t longest = 1;
  for (const DraftTableRow& row : c.draft_lengths.table) longest = std::max(longest, row.draft_length);
  return longest;
}

constexpr std::array kDraftLengthPolicies{
    DraftLengthEntry{"fixed", "draft_length tokens in every round, or the drafter's", fixed_draft_length,
                     make_fixed_drafts},
    DraftLengthEntry{"adaptive",
                     "for each request the best length by its own accepted and rejected drafts and by what its "
                     "verifications cost",
                     maximum, make_adaptive_drafts},
    DraftLengthEntry{"table", "by the requests that decode on the replica and the request's context", longest_of_table,
                     make_table_drafts},
    DraftLengthEntry{"goodput",
                     "one length for the replica: the one with the most tokens/s predicted, by the agreement of all "
                     "requests lately, the batch and its contexts",
                     maximum, make_goodput_drafts},
};

}  // namespace

void DraftLengthPolicy::propose(const DraftOutlook& outlook, const ProposalCosts&, std::span<std::int64_t> lengths) {
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = next(*outlook.decoding[i], outlook);
}

std::span<const DraftLengthEntry> draft_length_policies() {
  return kDraftLengthPolicies;
}

const DraftLengthEntry* find_draft_length_policy(std::string_view name) {
  const auto it = std::find_if(kDraftLengthPolicies.begin(), kDraftLengthPolicies.end(),
                               [name](const DraftLengthEntry& entry) { return entry.name == name; });
  return it == kDraftLengthPolicies.end() ? nullptr : &*it;
}

std::int64_t fixed_draft_length(const DecodeConfig& config) {
  const DecodePolicy* policy = find_decode_policy(config.policy);
  return policy && policy->proposes() && config.drafter ? config.drafter->tokens() : config.draft_length;
}

std::int64_t longest_draft(const DecodeConfig& config) {
  return find_draft_length_policy(config.draft_lengths.policy)->longest(config);
}

}  // namespace kvsim::serving
