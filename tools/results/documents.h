// The documents of kvsim by kind, each with its keys: what `kvsim list metrics`, `kvsim schema --results` and
// docs/results.md say of them is made from the rows that write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/results/fields.h"

namespace kvsim::results {

/// With the two keys that every document begins with.
Section document_head(Json& reasons);
/// Those keys and `keys`.
KeyList head_keys(const KeyList& keys);
/// Keys of head_keys(), and the reasons.
KeyList document_keys(const KeyList& keys);

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
  std::string_view command;  ///< that prints one: "kvsim capacity"
  KeyList (*keys)();
};

/// One JSON Schema of them all, one of `$defs` a kind.
Json results_schema(const std::vector<DocumentKind>& kinds);
/// The reference of results, docs/results.md.
std::string results_page(const std::vector<DocumentKind>& kinds);

}  // namespace kvsim::results
