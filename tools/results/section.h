// One object of a result document. Every key is always there: a number that does not exist becomes null, and the
// reason is kept beside the document under the number's path.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace kvsim::results {

/// Grows when a key changes its meaning or goes.
inline constexpr int kSchemaVersion = 1;

/// The version of the program, "0.1.0".
std::string_view kvsim_version();

using Json = nlohmann::ordered_json;

// Why a figure may not exist.
inline constexpr std::string_view kNoTime = "no time was measured";
inline constexpr std::string_view kNoFirstToken = "no request got its first token in the measured time";
inline constexpr std::string_view kNoTpot = "no request of two or more output tokens finished in the measured time";
inline constexpr std::string_view kNoGap = "there was no gap between tokens in the measured time";
inline constexpr std::string_view kNothingFinished = "no request finished in the measured time";

class Section {
 public:
  /// `path` is the object's place in the document ("latency_s.ttft"); empty for the document itself. `reasons` (a map
  /// of paths to sentences) must outlive the section.
  Section(std::string path, Json& reasons) : path_(std::move(path)), reasons_(&reasons) {}

  Section& missing(std::string_view key, std::string_view reason);
  Section& set(std::string_view key, Json value);
  /// An object with the same reasons, to be handed to `set` when it is complete.
  [[nodiscard]] Section child(std::string_view key) const { return {join(key), *reasons_}; }
  /// An empty one at the same place, with the same reasons.
  [[nodiscard]] Section here() const { return {path_, *reasons_}; }
  /// Sets the object that `child(key)` began.
  Section& set(std::string_view key, Section child) { return set(key, child.take()); }

  [[nodiscard]] Json take() { return std::move(object_); }

 private:
  [[nodiscard]] std::string join(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }

  std::string path_;
  Json object_ = Json::object();
  Json* reasons_;
};

/// How documents are written: indented by two, but lists without objects or lists in them on one line, so that a
/// hundred samples are not a hundred lines. With a line end. Parses back to the same document.
std::string json_text(const Json& document);

}  // namespace kvsim::results
