#include "models/calibration/latent_fit.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "models/calibration/physics.h"
#include "models/kernels/operator_times.h"

namespace kvsim::models {
namespace {

/// Takes out what `goes` and says how many, if any.
template <class Sample, class Goes>
void leave_out(std::vector<Sample>& rows, const Goes& goes, const std::string& why, std::vector<std::string>& notes) {
  const auto end = std::remove_if(rows.begin(), rows.end(), goes);
  const auto count = std::distance(end, rows.end());
  rows.erase(end, rows.end());
  if (count > 0) notes.push_back(fmt::format("latent attention: {} {} are left out", count, why));
}

template <class Sample>
void keep_usable(std::vector<Sample>& rows, bool linear, std::vector<std::string>& notes) {
  if (!linear) {
    leave_out(
        rows, [](const Sample& row) { return row.block.projections.has_value(); },
        "rows of whole blocks without a form of bf16 linear layers, which they hold,", notes);
  }
  leave_out(
      rows, [](const Sample& row) { return row.block.projections.value_or(NumberFormat::bf16) != NumberFormat::bf16; },
      "rows of blocks with other projections than bf16", notes);
  for (const NumberFormat kv : {NumberFormat::bf16, NumberFormat::fp8}) {
    const auto of_block = [kv](const Sample& row) { return row.kv == kv && row.block.projections.has_value(); };
    if (std::none_of(rows.begin(), rows.end(), of_block)) continue;
    leave_out(
        rows, [kv](const Sample& row) { return row.kv == kv && !row.block.projections.has_value(); },
        "rows of attention alone beside whole blocks", notes);
  }
}

DecodeSample absorbed(const TiledSample& row) {
  DecodeSample sample;
  sample.from = row.from;
  sample.kv = row.kv;
  sample.shape = absorbed_shape(latent_model(1).mla, row.block.heads);
  sample.requests = row.chunks;
  sample.queries = row.tokens;
  sample.kv_length = (row.tokens + 1) / 2;
  sample.warm = true;
  sample.seconds = row.seconds;
  sample.block = row.block;
  return sample;
}

template <class Sample>
void keep_kernel(std::vector<Sample>& rows, NumberFormat kv, const std::string& kernel, const char* phase,
                 std::vector<std::string>& notes) {
  leave_out(
      rows, [&](const Sample& row) { return row.kv == kv && row.block.kernel != kernel; },
      fmt::format("rows of {} with {} KV by other kernels than {}", phase, word(kv), kernel), notes);
}

}  // namespace

double block_linear_s(const LinearForm& linear, double heads, double tokens, const Machine& machine) {
  const std::vector<LinearShape> layers = attention_shapes(latent_model(heads), 1);
  double weights = 0;
  for (const LinearShape& layer : layers) weights += layer.n * layer.k;
  double sum = 0;
  for (const LinearShape& layer : layers) {
    // The round is over all four: a layer is warm where all of them fit L2.
    const LinearRun run{weights / (layer.n * layer.k), false};
    sum += linear.time(tokens, layer.n, layer.k, machine, run).seconds;
  }
  return sum;
}

std::vector<std::string> prepare_latents(Samples& samples, const LinearForm* linear, const Machine& machine) {
  std::vector<std::string> notes;
  std::vector<DecodeSample>& decode = samples.latent_decode;
  std::vector<TiledSample>& prefill = samples.latent_prefill;
  keep_usable(decode, linear != nullptr, notes);
  keep_usable(prefill, linear != nullptr, notes);
  for (const NumberFormat kv : {NumberFormat::bf16, NumberFormat::fp8}) {
    const std::string kernel = main_kernel(of_format(decode, kv));
    keep_kernel(decode, kv, kernel, "decoding", notes);
    const auto as_decoding = std::stable_partition(prefill.begin(), prefill.end(), [&](const TiledSample& row) {
      return row.kv != kv || !row.block.projections.has_value() || row.block.kernel != kernel;
    });
    std::transform(as_decoding, prefill.end(), std::back_inserter(decode), absorbed);
    prefill.erase(as_decoding, prefill.end());
    keep_kernel(prefill, kv, main_kernel(of_format(prefill, kv)), "prompts", notes);
  }
  if (linear == nullptr) return notes;
  for (DecodeSample& row : decode) {
    if (!row.block.projections) continue;
    row.block.linear_s = block_linear_s(*linear, row.block.heads, row.requests * row.queries, machine);
  }
  for (TiledSample& row : prefill) {
    if (!row.block.projections) continue;
    row.block.linear_s = block_linear_s(*linear, row.block.heads, row.chunks * row.tokens, machine);
  }
  return notes;
}

}  // namespace kvsim::models
