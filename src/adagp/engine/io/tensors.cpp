#include "adagp/engine/io/tensors.h"

#include <array>
#include <cstring>
#include <utility>

#include <ATen/ATen.h>

#include "adagp/base/core/error.h"
#include "adagp/base/core/text.h"

namespace adagp::io {
namespace {

constexpr std::array<std::pair<const char*, at::ScalarType>, 17> kScalarTypes{{
    {"BOOL", at::kBool},
    {"U8", at::kByte},
    {"I8", at::kChar},
    {"I16", at::kShort},
    {"U16", at::kUInt16},
    {"I32", at::kInt},
    {"U32", at::kUInt32},
    {"I64", at::kLong},
    {"U64", at::kUInt64},
    {"F16", at::kHalf},
    {"BF16", at::kBFloat16},
    {"F32", at::kFloat},
    {"F64", at::kDouble},
    {"C64", at::kComplexFloat},
    {"F8_E4M3", at::kFloat8_e4m3fn},
    {"F8_E5M2", at::kFloat8_e5m2},
    {"F8_E8M0", at::kFloat8_e8m0fnu},
}};

}  // namespace

at::Tensor to_tensor(const SafeTensors& file, const TensorEntry& entry) {
  for (const auto& [name, type] : kScalarTypes) {
    if (entry.dtype != name) continue;
    at::Tensor out = at::empty(entry.shape, at::TensorOptions().dtype(type));
    if (entry.end > entry.begin) {
      std::memcpy(out.data_ptr(), file.data().data() + entry.begin, entry.end - entry.begin);
    }
    return out;
  }
  throw DataError(core::cat(file.file_name(), ": tensor '", entry.name, "': dtype ", entry.dtype,
                            " has no counterpart in LibTorch"));
}

TensorFile load_tensors(const core::fs::path& path) {
  const SafeTensors file = SafeTensors::read(path);
  TensorFile out;
  for (const auto& entry : file.entries()) out.tensors[entry.name] = to_tensor(file, entry);
  out.metadata = file.metadata();
  return out;
}

void save_tensors(const core::fs::path& path, const TensorMap& tensors,
                  const std::map<std::string, std::string>& metadata, core::Sync sync) {
  std::vector<at::Tensor> kept;  // what the views below point into
  std::vector<TensorBytes> entries;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined() || tensor.layout() != at::kStrided) {
      throw Error(core::cat(path.string(), ": tensor '", name, "' is undefined or sparse"));
    }
    const at::Tensor dense =
        kept.emplace_back(tensor.detach().to(at::kCPU).resolve_conj().resolve_neg().contiguous());
    TensorBytes entry;
    entry.name = name;
    for (const auto& [dtype, type] : kScalarTypes) {
      if (dense.scalar_type() == type) entry.dtype = dtype;
    }
    if (entry.dtype.empty()) {
      throw Error(core::cat(path.string(), ": tensor '", name, "': safetensors has no dtype for ",
                            c10::toString(dense.scalar_type())));
    }
    entry.shape = dense.sizes().vec();
    entry.bytes = {static_cast<const char*>(dense.data_ptr()), dense.nbytes()};
    entries.push_back(std::move(entry));
  }
  write_safetensors(path, std::move(entries), metadata, /*checksum=*/true, sync);
}

}  // namespace adagp::io
