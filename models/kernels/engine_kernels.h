// Which engine's kernels a profile's forms are of. Profiles are fitted to vLLM's; where another engine's rows were
// measured, forms of them take the place of those (KernelProfile::by_engine), and where they were not, reports say so.
#pragma once

#include <string>
#include <vector>

#include "models/kernels/profile.h"
#include "models/llm/llm_spec.h"

namespace kvsim::models {

/// Puts the forms of linear layers and of attention of `part` in place of those of `profile` in the same number format;
/// tables of these are dropped. Of attention only where `part` was fitted to heads like the model's. Where it was
/// measured on another GPU than the profile its forms are marked as scaled from there, and their errors dropped.
void use_kernels(const KernelProfile& part, const LlmSpec& model, KernelProfile& profile);

/// Whether a form of attention was fitted to heads like the model's: within the widths of its correction; without one
/// to grouped heads of 128.
[[nodiscard]] bool fitted_to_heads(const Correction& correction, const LlmSpec& model);

/// Operators whose form is of other kernels than profile.engine_kernels, in words: those that decide the model's step
/// times. Empty where it is not stated whose kernels the engine runs.
[[nodiscard]] std::vector<std::string> kernels_of_others(const KernelProfile& profile, const LlmSpec& model);

}  // namespace kvsim::models
