#include "tools/results/documents.h"

#include "tools/results/outcome.h"

namespace kvsim::results {

Section document_head(Json& reasons) {
  Section head("", reasons);
  head.set("schema_version", kSchemaVersion).set("kvsim_version", kvsim_version());
  return head;
}

KeyList document_keys(KeyList keys) {
  KeyList all{{"schema_version", {kText, "grows when a key changes its meaning or goes"}},
              {"kvsim_version", {kText, "the version of kvsim that wrote the document"}}};
  all.insert(all.end(), keys.begin(), keys.end());
  all.push_back({"details.reasons.*", {kText, "why the figure of that path is null"}});
  return all;
}

const std::vector<DocumentKind>& document_kinds() {
  static const std::vector<DocumentKind> kinds{};
  return kinds;
}

}  // namespace kvsim::results
