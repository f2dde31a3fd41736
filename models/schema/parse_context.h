// Context of a parser beside the node: where in the document it is, and where catalogue names are looked up.
#pragma once

#include <string>
#include <string_view>

#include "models/schema/config_node.h"
#include "models/schema/error.h"

namespace kvsim::schema {

/// Turns references into full entries. The catalogue implements it.
class ReferenceResolver {
 public:
  virtual ~ReferenceResolver() = default;

  /// The full entry that `reference` means: a name, `{base: name, changes...}`, or the entry itself written inline.
  /// The result has a `name`. `catalogue` is the kind of entry ("gpu", "link", "llm", ...); `path` is for messages.
  [[nodiscard]] virtual ConfigNode resolve(std::string_view catalogue, const ConfigNode& reference,
                                           std::string_view path) const = 0;
};

struct ParseContext {
  std::string path;                               ///< dotted path of the node being parsed; empty for the document
  const ReferenceResolver* references = nullptr;  ///< not owned; null: names cannot be looked up

  [[nodiscard]] std::string join(std::string_view key) const {
    return path.empty() ? std::string(key) : path + "." + std::string(key);
  }
  [[nodiscard]] ParseContext child(std::string_view key) const { return {join(key), references}; }
  [[nodiscard]] ParseContext child(std::size_t index) const { return child(std::to_string(index)); }
};

/// Handed to cross-field checks: complains at the position of the field that is wrong.
class Reporter {
 public:
  Reporter(const ConfigNode& node, const ParseContext& context) : node_(node), context_(context) {}

  /// `key` is the dotted path of the field within the object ("mla.kv_lora_rank", "points.2.efficiency"); the
  /// complaint goes to the nearest enclosing value that was written, or to the object if nothing was.
  [[noreturn]] void fail(std::string_view key, std::string_view message) const;

  /// The object as written, e.g. to ask whether a key was given.
  [[nodiscard]] const ConfigNode& node() const { return node_; }

 private:
  const ConfigNode& node_;
  const ParseContext& context_;
};

}  // namespace kvsim::schema
