#include "models/kernels/engine_kernels.h"

#include <fmt/format.h>

#include "models/kernels/operators/attention.h"

namespace kvsim::models {
namespace {

/// A form for use on another machine than it was fitted to.
template <class Form>
Form scaled(Form form, const std::string& from) {
  form.error.reset();
  form.source = {schema::SourceKind::derived,
                 fmt::format("scaled by datasheet from {}: {}", from, form.source.reference)};
  return form;
}

template <class Form, class Wanted>
void replace(const std::vector<Form>& forms, NumberFormat Form::*format, const std::string& scaled_from,
             std::vector<Form>& of_profile, const Wanted& wanted) {
  for (Form& own : of_profile) {
    const Form* form = form_for(forms, format, own.*format);
    if (form != nullptr && wanted(*form)) own = scaled_from.empty() ? *form : scaled(*form, scaled_from);
  }
}

template <class Form>
bool is_of(const Form* form, const std::string& kernels) {
  return form == nullptr || (form->kernels.empty() ? kUsualKernels : form->kernels) == kernels;
}

}  // namespace

bool fitted_to_heads(const Correction& correction, const LlmSpec& model) {
  constexpr std::size_t kHeadDimAxis = 2;
  const auto width = static_cast<double>(model.head_dim);
  if (correction.empty()) return width == 128 && model.kv_heads < model.heads;
  const std::vector<double>& widths = correction.axes[kHeadDimAxis];
  return width >= widths.front() && width <= widths.back();
}

void use_kernels(const KernelProfile& part, const LlmSpec& model, KernelProfile& profile) {
  const std::string from = part.measured_on == profile.measured_on ? "" : part.measured_on;
  const auto of_heads = [&model](const auto& form) { return fitted_to_heads(form.correction, model); };
  FittedForms& f = profile.fitted;
  replace(part.fitted.linear, &LinearForm::weights, from, f.linear, [](const LinearForm&) { return true; });
  replace(part.fitted.decode_attention, &DecodeForm::kv, from, f.decode_attention, of_heads);
  replace(part.fitted.verify_attention, &VerifyForm::kv, from, f.verify_attention,
          [](const VerifyForm&) { return true; });
  replace(part.fitted.prefill_attention, &TiledForm::kv, from, f.prefill_attention, of_heads);
  std::erase_if(profile.tables.linear, [&](const LinearTable& t) {
    const LinearForm* form = form_for(f.linear, &LinearForm::weights, t.weights);
    return form != nullptr && !form->kernels.empty();
  });
  std::erase_if(profile.tables.decode_attention, [&](const DecodeTable& t) {
    const DecodeForm* form = form_for(f.decode_attention, &DecodeForm::kv, t.kv);
    return form != nullptr && !form->kernels.empty();
  });
}

std::vector<std::string> kernels_of_others(const KernelProfile& profile, const LlmSpec& model) {
  std::vector<std::string> others;
  const std::string& wanted = profile.engine_kernels;
  if (wanted.empty()) return others;
  const FittedForms& f = profile.fitted;
  const bool usual = wanted == kUsualKernels;
  for (const NumberFormat format : model.weight_formats()) {
    if (!is_of(form_for(f.linear, &LinearForm::weights, format), wanted)) {
      others.push_back(fmt::format("linear layers in {}", word(format)));
    }
  }
  if (model.moe.experts > 0 && !usual && form_for(f.moe, &MoeForm::weights, model.weight_format()) != nullptr) {
    others.emplace_back("routed experts");
  }
  const NumberFormat kv = kv_format(model);
  if (model.attention == AttentionKind::mla) {
    if (!usual && form_for(f.latent_decode_attention, &DecodeForm::kv, kv) != nullptr) {
      others.emplace_back("attention over latents");
    }
    return others;
  }
  const bool decode = is_of(form_for(f.decode_attention, &DecodeForm::kv, kv), wanted);
  const bool prefill = is_of(form_for(f.prefill_attention, &TiledForm::kv, kv), wanted);
  if (!decode && !prefill) {
    others.emplace_back("attention");
  } else if (!decode || !prefill) {
    others.emplace_back(decode ? "attention of prompts" : "attention of decoding");
  }
  return others;
}

}  // namespace kvsim::models
