#include "models/schema/yaml.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "models/schema/error.h"

namespace kvsim::schema {
namespace {

// The bytes of a text, looked at before a parser does.

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}
bool is_continuation(std::string_view text, std::size_t i) {
  return i < text.size() && (byte_at(text, i) & 0xC0U) == 0x80U;
}

/// Bytes of the well-formed UTF-8 sequence at i (RFC 3629, section 4), 0 where there is none.
std::size_t sequence_length(std::string_view text, std::size_t i) {
  const unsigned lead = byte_at(text, i);
  if (lead < 0x80U) return 1;
  const std::size_t length = lead >= 0xC2U && lead <= 0xDFU   ? 2
                             : lead >= 0xE0U && lead <= 0xEFU ? 3
                             : lead >= 0xF0U && lead <= 0xF4U ? 4
                                                              : 0;
  for (std::size_t k = 1; k < length; ++k) {
    if (!is_continuation(text, i + k)) return 0;
  }
  if (length < 3) return length;
  const unsigned second = byte_at(text, i + 1);
  const bool overlong = (lead == 0xE0U && second < 0xA0U) || (lead == 0xF0U && second < 0x90U);
  const bool surrogate = lead == 0xEDU && second > 0x9FU;
  const bool beyond = lead == 0xF4U && second > 0x8FU;
  return overlong || surrogate || beyond ? 0 : length;
}

/// Valid UTF-8 without NUL: what a value may hold once its escapes are applied.
bool is_clean(std::string_view value) {
  for (std::size_t i = 0; i < value.size();) {
    const std::size_t length = sequence_length(value, i);
    if (length == 0 || value[i] == '\0') return false;
    i += length;
  }
  return true;
}

/// Positions of a text: from byte offsets within lines to columns in characters.
class TextPositions {
 public:
  explicit TextPositions(std::string_view text);
  /// 1-based line and column for a 0-based line and a 0-based byte offset in it. Where `source` has a line, the text
  /// begins there.
  [[nodiscard]] Origin origin(const Origin& source, int line, int byte_column) const;

 private:
  std::string_view text_;
  std::vector<std::size_t> line_starts_;
  std::vector<std::size_t> continuations_;  // bytes that are no character of their own
};

TextPositions::TextPositions(std::string_view text) : text_(text), line_starts_{0} {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') line_starts_.push_back(i + 1);
    if (is_continuation(text, i)) continuations_.push_back(i);
  }
}

Origin TextPositions::origin(const Origin& source, int line, int byte_column) const {
  const auto index = std::min(static_cast<std::size_t>(std::max(line, 0)), line_starts_.size() - 1);
  const std::size_t start = line_starts_[index];
  const std::size_t end = std::min(text_.size(), start + static_cast<std::size_t>(std::max(byte_column, 0)));
  const auto before = [this](std::size_t at) {
    return std::lower_bound(continuations_.begin(), continuations_.end(), at) - continuations_.begin();
  };
  const auto bytes = static_cast<std::ptrdiff_t>(std::max(start, end) - start);
  const auto column = static_cast<int>(1 + bytes - (before(std::max(start, end)) - before(start)));
  return source.at(static_cast<int>(index) + std::max(source.line(), 1), column);
}

/// Throws InputError at the first byte that is not valid UTF-8 (overlong forms and surrogates included) or is a control
/// character other than tab and line ends, or a byte order mark.
void check_text(std::string_view text, const Origin& source) {
  const auto fail_at = [&](std::size_t offset, std::string_view message) {
    const TextPositions positions(text.substr(0, offset));
    const auto newline = text.substr(0, offset).rfind('\n');
    const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n');
    throw InputError(positions.origin(source, static_cast<int>(line), static_cast<int>(offset - start)), message);
  };
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = sequence_length(text, i);
    const unsigned byte = byte_at(text, i);
    if (length == 0) fail_at(i, fmt::format("the byte 0x{:02X} is not valid UTF-8; save the file as UTF-8", byte));
    const bool line_end = byte == '\n' || (byte == '\r' && i + 1 < text.size() && text[i + 1] == '\n');
    if ((byte < 0x20U && byte != '\t' && !line_end) || byte == 0x7FU) {
      fail_at(i, fmt::format("the control character 0x{:02X} is not allowed, expected printable text", byte));
    }
    if (text.substr(i).starts_with("\xEF\xBB\xBF")) fail_at(i, "a byte order mark within the text is not allowed");
    i += length;
  }
}

// The tree.

/// Cost of a node against the limits, so that copying an alias is priced before it is done.
struct Extent {
  std::size_t values = 0;
  std::size_t bytes = 0;
  std::size_t depth = 0;  ///< levels of maps and lists inside the node, itself included
};

/// Most bytes of a key: escaped, it is still below the 1,024 characters that YAML knows a key by.
constexpr std::size_t kMostKeyBytes = 200;

/// Builds the tree from yaml-cpp's events, which carry exact marks and pass duplicate keys through.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, Origin source, const YamlLimits& limits)
      : positions_(text), source_(std::move(source)), limits_(limits) {}

  /// Complaints that only stand if the rest of the text is valid YAML.
  void throw_if_refused() const {
    if (refused_) throw InputError(*refused_);
  }
  [[nodiscard]] bool has_root() const { return has_root_; }
  [[nodiscard]] ConfigNode take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      throw InputError(at(mark), "a second document begins here, expected one document per file");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    charge(mark, {.values = 1});
    finish(ConfigNode(at(mark)), {.values = 1}, anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    // yaml-cpp marks plain scalars with the tag "?" and quoted ones with "!".
    const bool plain = tag.empty() || tag == "?";
    if (!plain && tag != "!" && tag != "tag:yaml.org,2002:str") refuse_tag(mark, tag);
    // The escapes \0, \N and \_ give bytes that are no text.
    if (!is_clean(value)) throw InputError(at(mark), "an escape in this text gives no valid character");
    const Extent extent{.values = 1, .bytes = value.size()};
    charge(mark, extent);
    finish(ConfigNode::scalar(value, !plain, at(mark)), extent, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    if (!tag.empty() && tag != "?" && tag != "!" && tag != "tag:yaml.org,2002:seq") refuse_tag(mark, tag);
    open(mark, ConfigNode::sequence(at(mark)), anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    if (!tag.empty() && tag != "?" && tag != "!" && tag != "tag:yaml.org,2002:map") refuse_tag(mark, tag);
    open(mark, ConfigNode::map(at(mark)), anchor);
  }
  void OnMapEnd() override { close(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (expecting_key()) throw InputError(at(mark), "an alias cannot be a key, expected the key written out");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      throw InputError(at(mark),
                       "this alias stands inside the value it refers to, expected an alias of a finished one");
    }
    charge(mark, found->second.extent);
    if (stack_.size() + found->second.extent.depth > limits_.depth) refuse_depth(mark);
    finish(found->second.node, found->second.extent, YAML::NullAnchor);
  }

 private:
  struct Frame {
    ConfigNode node;
    YAML::anchor_t anchor = YAML::NullAnchor;
    Extent extent;
    bool has_key = false;
    std::string key;
    Origin key_origin;
    std::unordered_map<std::string, Origin> seen;
  };
  struct Anchored {
    ConfigNode node;
    Extent extent;
  };

  [[nodiscard]] Origin at(const YAML::Mark& mark) const { return positions_.origin(source_, mark.line, mark.column); }
  [[nodiscard]] bool expecting_key() const {
    return !stack_.empty() && stack_.back().node.is_map() && !stack_.back().has_key;
  }

  [[noreturn]] void refuse_tag(const YAML::Mark& mark, const std::string& tag) const {
    throw InputError(at(mark), fmt::format("unknown tag \"{}\", expected a value without a tag", tag));
  }
  [[noreturn]] void refuse_depth(const YAML::Mark& mark) const {
    throw InputError(at(mark), fmt::format("nested too deeply, expected at most {} levels", limits_.depth));
  }

  void charge(const YAML::Mark& mark, const Extent& extent) {
    values_ += extent.values;
    bytes_ += extent.bytes;
    if (values_ > limits_.values) {
      throw InputError(at(mark), fmt::format("too many values (aliases count as often as they "
                                             "are used), expected at most {}",
                                             limits_.values));
    }
    if (bytes_ > limits_.expanded_bytes) {
      throw InputError(at(mark), fmt::format("too much text (aliases count as often as they are used), expected at "
                                             "most {} bytes",
                                             limits_.expanded_bytes));
    }
  }

  void open(const YAML::Mark& mark, ConfigNode node, YAML::anchor_t anchor) {
    if (expecting_key()) {
      refuse_later({at(mark), fmt::format("{} cannot be a key, expected a name", node.describe())});
    }
    charge(mark, {.values = 1});
    if (stack_.size() >= limits_.depth) refuse_depth(mark);
    stack_.push_back({.node = std::move(node),
                      .anchor = anchor,
                      .extent = {.values = 1, .bytes = 0, .depth = 1},
                      .has_key = false,
                      .key = {},
                      .key_origin = {},
                      .seen = {}});
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    finish(std::move(frame.node), frame.extent, frame.anchor);
  }

  /// A value is complete: remember it under its anchor and hand it to whatever encloses it.
  void finish(ConfigNode node, const Extent& extent, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = {node, extent};
    if (stack_.empty()) {
      root_ = std::move(node);
      has_root_ = true;
      return;
    }
    Frame& parent = stack_.back();
    parent.extent.values += extent.values;
    parent.extent.bytes += extent.bytes;
    parent.extent.depth = std::max(parent.extent.depth, extent.depth + 1);
    if (parent.node.is_sequence()) {
      parent.node.items().push_back(std::move(node));
    } else if (!parent.has_key) {
      take_key(parent, node);
    } else {
      parent.node.append(std::move(parent.key), std::move(node), std::move(parent.key_origin));
      parent.has_key = false;
    }
  }

  /// An unclosed bracket looks like a list that is a key; the syntax error that follows says it better.
  void refuse_later(const InputError& error) {
    if (!refused_) refused_ = error;
  }

  void take_key(Frame& frame, const ConfigNode& key) {
    frame.has_key = true;
    if (!key.is_scalar()) {
      refuse_later({key.origin(), "a key has no name, expected text before the colon"});
      return;
    }
    if (key.text() == "<<" && !key.quoted()) {
      throw InputError(key.origin(), "merge keys (<<) are not supported, expected the keys written out");
    }
    if (key.text().size() > kMostKeyBytes) {
      throw InputError(key.origin(),
                       fmt::format("a key of {} bytes, expected at most {}", key.text().size(), kMostKeyBytes));
    }
    const auto [first, inserted] = frame.seen.try_emplace(key.text(), key.origin());
    if (!inserted) {
      throw InputError(key.origin(),
                       fmt::format("duplicate key \"{}\", first given in line {}", key.text(), first->second.line()));
    }
    frame.key = key.text();
    frame.key_origin = key.origin();
  }

  TextPositions positions_;
  Origin source_;
  YamlLimits limits_;
  int documents_ = 0;
  bool has_root_ = false;
  std::optional<InputError> refused_;
  ConfigNode root_;
  std::vector<Frame> stack_;
  std::unordered_map<YAML::anchor_t, Anchored> anchors_;
  std::size_t values_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

ConfigNode read_yaml(std::string_view text, const std::string& source_name, const YamlLimits& limits) {
  return read_yaml(text, Origin(source_name), limits);
}

ConfigNode read_yaml(std::string_view text, const Origin& source, const YamlLimits& limits) {
  if (text.size() > limits.text_bytes) {
    throw InputError(source, fmt::format("too long, expected at most {} bytes of text", limits.text_bytes));
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // byte order mark
  check_text(text, source);

  TreeBuilder builder(text, source, limits);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    if (error.mark.is_null()) throw InputError(source, error.msg);
    const TextPositions positions(text);
    throw InputError(positions.origin(source, error.mark.line, error.mark.column), "not valid YAML: " + error.msg);
  }
  builder.throw_if_refused();
  ConfigNode root = builder.take_root();
  if (!builder.has_root() || root.is_null()) throw InputError(source, "is empty, expected a YAML document");
  return root;
}

ConfigNode read_yaml_file(const std::string& path, const YamlLimits& limits) {
  const Origin source(path);
  std::error_code status_error;
  const auto status = std::filesystem::status(path, status_error);
  if (status.type() == std::filesystem::file_type::not_found) throw InputError(source, "there is no such file");
  if (std::filesystem::is_directory(status)) throw InputError(source, "is a directory, expected a YAML file");

  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, std::size_t{1} << 16> piece{};
  while (file && text.size() <= limits.text_bytes) {  // the bound matters for device files, which never end
    file.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof() && text.size() <= limits.text_bytes) throw InputError(source, "cannot be read");
  return read_yaml(text, path, limits);
}

}  // namespace kvsim::schema
