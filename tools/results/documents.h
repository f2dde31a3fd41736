// The documents of kvsim beside results of run and compare, each with its keys: what `kvsim list metrics`, `kvsim
// schema
// --results` and docs/results.md say of them is made from the fields that write them.
#pragma once

#include <string_view>
#include <vector>

#include "tools/results/fields.h"

namespace kvsim::results {

/// With the two keys that every document begins with.
Section document_head(Json& reasons);
KeyList document_keys(KeyList keys);

/// A whole document; the reasons of what is null end its details.
template <class Row>
Json document(const Fields<Row>& fields, const Row& row) {
  Json reasons = Json::object();
  Json document = filled(document_head(reasons), fields, row).take();
  document["details"]["reasons"] = std::move(reasons);
  return document;
}

struct DocumentKind {
  std::string_view name;     ///< "capacity"
  std::string_view command;  ///< that prints one with --json
  KeyList (*keys)();
};

const std::vector<DocumentKind>& document_kinds();

}  // namespace kvsim::results
