// The ways a request can take through two pools of GPUs around a storage node (remote prefix caching, VeriCache
// section 4.2.2): a small local pool on a fast link, a larger remote pool on a slow one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvsim::models {

/// B1: local pool only; B2: remote pool only, with the full KV; P1: the remote pool drafts on compressed KV, the local
/// pool verifies; P2: as P1 while the rest of the KV streams to the remote pool, which then decodes by itself. cached:
/// the full KV stays on the local GPU between rounds; stateless: it is read anew for each round.
enum class Path : std::uint8_t { B1, B2, P1_cached, P1_stateless, P2_cached, P2_stateless };
inline constexpr std::size_t kPaths = 6;
inline constexpr std::array<Path, kPaths> kAllPaths{Path::B1,           Path::B2,        Path::P1_cached,
                                                    Path::P1_stateless, Path::P2_cached, Path::P2_stateless};

/// Properties of a path.
struct PathTraits {
  std::string_view name;
  std::string_view description;
  bool on_local = false;      ///< takes memory and time of a local node
  bool on_remote = false;     ///< of a remote node
  bool drafts = false;        ///< the remote node drafts on compressed KV, the local one verifies
  bool cached = false;        ///< the full KV stays on the local node between rounds
  bool streams_rest = false;  ///< the rest of the KV follows, and the remote node goes on by itself
};

const PathTraits& traits(Path path);
inline std::string_view path_name(Path path) {
  return traits(path).name;
}

/// The place of a path in arrays of one figure per path.
constexpr std::size_t index_of(Path path) {
  return static_cast<std::size_t>(path);
}

}  // namespace kvsim::models
