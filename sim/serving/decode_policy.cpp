#include "sim/serving/decode_policy.h"

#include <array>

#include "models/schema/registry.h"

namespace kvsim::serving {
namespace {

constexpr DecodePolicy kFullKv{.name = "full_kv",
                               .description = "every step reads the full KV, which stays in GPU memory"};
constexpr DecodePolicy kLossy{
    .name = "lossy",
    .description = "every step reads the compressed KV; the output diverges from full-KV decoding",
    .reads_compressed = true};
constexpr DecodePolicy kDraftVerify{
    .name = "draft_verify",
    .description = "drafts on the compressed KV, verifies x tokens at once against the full KV; lossless",
    .reads_compressed = true,
    .verifies = true};
constexpr DecodePolicy kSparseSelf{
    .name = "sparse_self",
    .description =
        "drafts by reading a part of the full KV, which stays in GPU memory, verifies x tokens at once "
        "against all of it; lossless",
    .reads_compressed = true,
    .verifies = true,
    .keeps_full = true};
constexpr DecodePolicy kSpeculativePrefetch{
    .name = "speculative_prefetch",
    .description =
        "a low-bit copy on the GPU; the 16-bit pairs that the next token attends to most are fetched ahead, "
        "chosen by a speculative token",
    .reads_compressed = true,
    .low_bit_copy = true,
    .fetch = Fetch::speculative};
constexpr DecodePolicy kFetchOnDemand{.name = "fetch_on_demand",
                                      .description =
                                          "a low-bit copy on the GPU; each layer's 16-bit pairs are fetched "
                                          "when the token's own scores choose them",
                                      .reads_compressed = true,
                                      .low_bit_copy = true,
                                      .fetch = Fetch::on_demand};
constexpr DecodePolicy kQuantisedOnly{
    .name = "quantised_only",
    .description = "a low-bit copy and the latest tokens in 16 bit; nothing is fetched",
    .reads_compressed = true,
    .low_bit_copy = true};
constexpr DecodePolicy kFullOffload{
    .name = "full_offload",
    .description = "the full KV is in host memory and streamed in for every step, layer by layer",
    .fetch = Fetch::everything};

/// The policy with an auxiliary drafter.
constexpr DecodePolicy drafted(DecodePolicy base, std::string_view name, std::string_view description) {
  base.name = name;
  base.description = description;
  base.drafter = true;
  return base;
}

constexpr std::array kDecodePolicies{
    kFullKv,
    kLossy,
    kDraftVerify,
    drafted(kFullKv, "drafter",
            "an auxiliary drafter (EAGLE, MTP, a small model) proposes tokens, every step verifies them against the "
            "full KV; lossless"),
    kSparseSelf,
    drafted(kDraftVerify, "draft_verify+drafter",
            "draft_verify whose drafting steps take tokens of an auxiliary drafter; lossless"),
    drafted(kSparseSelf, "sparse_self+drafter",
            "sparse_self whose drafting steps take tokens of an auxiliary drafter; lossless"),
    drafted(kLossy, "lossy+drafter", "lossy whose steps take tokens of an auxiliary drafter"),
    kSpeculativePrefetch,
    drafted(kSpeculativePrefetch, "speculative_prefetch+drafter",
            "speculative_prefetch whose steps verify tokens of an auxiliary "
            "drafter: the pairs of all of them are fetched"),
    kFetchOnDemand,
    kQuantisedOnly,
    kFullOffload,
    drafted(kFullOffload, "full_offload+drafter",
            "full_offload whose steps verify tokens of an auxiliary drafter; lossless"),
};

}  // namespace

std::span<const DecodePolicy> decode_policies() {
  return kDecodePolicies;
}

const DecodePolicy* find_decode_policy(std::string_view name) {
  return schema::find_named(decode_policies(), name);
}

DecodeConfig own_drafts(const DecodeConfig& decode) {
  const DecodePolicy* policy = find_decode_policy(decode.policy);
  DecodeConfig own = decode;
  if (!policy || !policy->keeps_full) return own;
  const SparseConfig sparse = decode.sparse.value_or(SparseConfig{});
  own.compressor = sparse.selection.value_or(own.compressor);
  own.compressor.reload = models::ReloadContent::missing;  // what is read is a part of the full KV, no copy beside it
  own.keep_ratio = sparse.keep_ratio.value_or(own.keep_ratio);
  if (sparse.keep_ratio) own.budget.reset();
  own.draft_length = sparse.draft_length.value_or(own.draft_length);
  own.acceptance = sparse.acceptance.value_or(own.acceptance);
  return own;
}

}  // namespace kvsim::serving
