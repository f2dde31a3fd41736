// A model from what its publisher states: Hugging Face's config.json, with the file of its quantisation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/schema/config_node.h"

namespace kvsim::models {

struct ImportedModel {
  /// The keys of a catalogue's model, without name and description; each points at the file it comes from.
  schema::ConfigNode entry;
  /// Facts in the files that an entry lacks: parts left out, formats taken for others, fields that nothing here
  /// knows. Whole sentences.
  std::vector<std::string> remarks;
};

/// Reads `config` (the document of config.json; of a model with encoders its text part is read) and `quantisation` (the
/// document of hf_quant_config.json; null: config.json's own `quantization_config`, if any). Nothing is guessed: fields
/// that change what a model computes or keeps are either read or refused. Embeddings, LM head, norms and routers are
/// taken to be held in 16 bit; widths of the rest by what is excluded from quantising, matrix by matrix. Throws
/// schema::InputError at the field: an unknown `model_type`, layers that differ from each other, a field that is
/// missing or impossible. `as`: the type that the fields are read as, whatever `model_type` says; empty: that one.
ImportedModel import_model(const schema::ConfigNode& config, const schema::ConfigNode* quantisation,
                           std::string_view as = {});

/// Imports from files. `quantisation_path` empty: hf_quant_config.json beside config.json, where there is one. The
/// entry has a name and a description: the folder's name, else the file's.
ImportedModel import_model_file(const std::string& path, const std::string& quantisation_path = {},
                                std::string_view as = {});

}  // namespace kvsim::models
