// Factors between the units of files and prints and those of the code: seconds, bytes.
#pragma once

namespace kvsim {

inline constexpr double kNanosecond = 1e-9;  ///< in seconds, as the two below
inline constexpr double kMicrosecond = 1e-6;
inline constexpr double kMillisecond = 1e-3;
inline constexpr double kNsPerSecond = 1e9;
inline constexpr double kMB = 1e6;  ///< in bytes, as the one below
inline constexpr double kGB = 1e9;

}  // namespace kvsim
