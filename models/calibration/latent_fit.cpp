#include "models/calibration/latent_fit.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "models/calibration/operator_fits.h"
#include "models/calibration/physics.h"
#include "models/kernels/linear_shapes.h"

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
void keep_usable(std::vector<Sample>& rows, std::optional<NumberFormat> projections, std::vector<std::string>& notes) {
  if (!projections) {
    leave_out(
        rows, [](const Sample& row) { return row.block.projections.has_value(); },
        "rows of whole blocks without a form of bf16 linear layers, which they hold,", notes);
    return;
  }
  leave_out(
      rows, [&](const Sample& row) { return row.block.projections.value_or(*projections) != *projections; },
      fmt::format("rows of blocks with other projections than {}", word(*projections)), notes);
  for (const NumberFormat kv : kKvFormats) {
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

/// As prepare_latents(), without the linear layers; with no projections no block stays.
std::vector<std::string> keep_latents(Samples& samples, std::optional<NumberFormat> projections) {
  std::vector<std::string> notes;
  std::vector<DecodeSample>& decode = samples.latent_decode;
  std::vector<TiledSample>& prefill = samples.latent_prefill;
  keep_usable(decode, projections, notes);
  keep_usable(prefill, projections, notes);
  for (const NumberFormat kv : kKvFormats) {
    const std::string kernel = main_kernel(of_format(decode, kv));
    keep_kernel(decode, kv, kernel, "decoding", notes);
    const auto as_decoding = std::stable_partition(prefill.begin(), prefill.end(), [&](const TiledSample& row) {
      return row.kv != kv || !row.block.projections.has_value() || row.block.kernel != kernel;
    });
    std::transform(as_decoding, prefill.end(), std::back_inserter(decode), absorbed);
    prefill.erase(as_decoding, prefill.end());
    keep_kernel(prefill, kv, main_kernel(of_format(prefill, kv)), "prompts", notes);
  }
  return notes;
}

double tokens_of(const DecodeSample& row) {
  return row.requests * row.queries;
}

double tokens_of(const TiledSample& row) {
  return row.chunks * row.tokens;
}

/// Adds the rows of blocks by the kernel of `kept`'s; seconds_of(row): what they take beside their linear layers.
template <class Sample, class SecondsOf>
void add_blocks(const std::vector<Sample>& rows, const std::vector<Sample>& kept, const SecondsOf& seconds_of,
                std::vector<LinearBlock>& blocks) {
  for (const Sample& row : rows) {
    const auto same = [&row](const Sample& k) {
      return k.kv == row.kv && k.block.projections.has_value() && k.block.kernel == row.block.kernel;
    };
    const std::optional<double> beside_s = seconds_of(row);
    if (!row.block.projections || !beside_s || std::none_of(kept.begin(), kept.end(), same)) continue;
    blocks.push_back({*row.block.projections, row.block.heads, tokens_of(row), *beside_s, row.seconds});
  }
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
  if (linear == nullptr) return keep_latents(samples, std::nullopt);
  std::vector<std::string> notes = keep_latents(samples, linear->weights);
  const auto time_layers = [&](auto& rows) {
    for (auto& row : rows) {
      if (row.block.projections) row.block.linear_s = block_linear_s(*linear, row.block.heads, tokens_of(row), machine);
    }
  };
  time_layers(samples.latent_decode);
  time_layers(samples.latent_prefill);
  return notes;
}

bool wait_for_launch(const std::vector<LinearSample>& rows, NumberFormat weights) {
  return std::any_of(rows.begin(), rows.end(),
                     [weights](const LinearSample& row) { return row.weights == weights && row.run.launched; });
}

Samples latents_of(const Samples& all) {
  Samples latents;
  latents.latent_decode = all.latent_decode;
  latents.latent_prefill = all.latent_prefill;
  return latents;
}

std::vector<LinearBlock> linear_blocks(const Samples& latents, const Samples& kept, const FittedForms& fitted,
                                       const Machine& machine) {
  std::vector<LinearBlock> blocks;
  const auto decode_s = [&](const DecodeSample& row) -> std::optional<double> {
    const DecodeForm* form = form_for(fitted.latent_decode_attention, &DecodeForm::kv, row.kv);
    return form == nullptr ? std::nullopt : std::optional(form->time(call_of(row), machine, row.warm).seconds);
  };
  const auto prefill_s = [&](const TiledSample& row) -> std::optional<double> {
    const TiledForm* form = form_for(fitted.latent_prefill_attention, &TiledForm::kv, row.kv);
    return form == nullptr ? std::nullopt : std::optional(tiled_s(*form, row, machine));
  };
  for (const NumberFormat weights : {NumberFormat::fp8, NumberFormat::fp8_block, NumberFormat::nvfp4}) {
    if (!wait_for_launch(kept.linear, weights)) continue;
    Samples narrow = latents_of(latents);
    (void)keep_latents(narrow, weights);
    add_blocks(narrow.latent_decode, kept.latent_decode, decode_s, blocks);
    add_blocks(narrow.latent_prefill, kept.latent_prefill, prefill_s, blocks);
  }
  return blocks;
}

void prepare_by_known(Samples& samples, const FittedForms* known, const Machine& machine) {
  const Samples latents = latents_of(samples);
  const LinearForm* linear =
      known == nullptr ? nullptr : form_for(known->linear, &LinearForm::weights, NumberFormat::bf16);
  (void)prepare_latents(samples, linear, machine);
  if (known != nullptr) samples.linear_blocks = linear_blocks(latents, samples, *known, machine);
}

}  // namespace kvsim::models
