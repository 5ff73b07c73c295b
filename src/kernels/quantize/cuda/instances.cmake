# SPDX-License-Identifier: Apache-2.0
# The instances of the rounding and encoding kernels, a source each, so that they are compiled side by side: a function of
# round.h or encode.h that launches the kernels of one family.

# nibble_add_kernel_instance(<target> <function> <its job> <launch of the family> <header> …)
function(nibble_add_kernel_instance target function job launch)
  if(NOT NIBBLE_HAS_CUDA)
    return()
  endif()
  set(includes "")
  foreach(header IN LISTS ARGN)
    string(APPEND includes "#include \"kernels/quantize/cuda/${header}\"\n")
  endforeach()
  set(source ${CMAKE_CURRENT_BINARY_DIR}/quantize/cuda/${function}.cu)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[// Made by src/kernels/quantize/cuda/instances.cmake.
@includes@
namespace nibble::cuda {

void @function@(const @job@& job, const Place& place) {
  @launch@(job, place);
}

}  // namespace nibble::cuda
]])
  nibble_add_cuda_sources(${target} FILES ${source})
endfunction()

function(nibble_add_kernel_instances target)
  # Most floats, those without -0, and those without a mantissa, a sign or a zero.
  nibble_add_kernel_instance(${target} round_plain_floats RoundJob launch_kind<Floats<FloatKind::plain>> round.cuh)
  nibble_add_kernel_instance(${target} round_floats_without_minus_zero RoundJob
    launch_kind<Floats<FloatKind::without_minus_zero>> round.cuh)
  nibble_add_kernel_instance(${target} round_any_floats RoundJob launch_kind<Floats<FloatKind::any>> round.cuh)
  nibble_add_kernel_instance(${target} round_grids RoundJob launch_kind<Grids> round.cuh)
  nibble_add_kernel_instance(${target} round_posits RoundJob launch_kind<Posits> round.cuh)
  # Codebooks of at most sixteen entries, and larger ones.
  nibble_add_kernel_instance(${target} round_small_tables RoundJob launch_kind<Tables<true>> round.cuh)
  nibble_add_kernel_instance(${target} round_large_tables RoundJob launch_kind<Tables<false>> round.cuh)

  # Ordinary numbers, posits and codebooks by draws.
  nibble_add_kernel_instance(${target} round_quick_floats RoundJob launch_quick_kind<QuickFloat> quick.cuh quick_float.cuh)
  nibble_add_kernel_instance(${target} round_quick_grids RoundJob launch_quick_kind<QuickGrid> quick.cuh quick_grid.cuh)
  nibble_add_kernel_instance(${target} round_quick_posits RoundJob launch_quick_draws<QuickPosit> quick.cuh quick_posit.cuh)
  nibble_add_kernel_instance(${target} round_quick_tables RoundJob launch_quick_tables quick_table.cuh)

  nibble_add_kernel_instance(${target} encode_floats EncodeJob launch_width<FloatCoder> encode.cuh)
  nibble_add_kernel_instance(${target} encode_upper_bits EncodeJob launch_coder<UpperBitsCoder> encode.cuh)
  nibble_add_kernel_instance(${target} encode_grids EncodeJob launch_width<GridCoder> encode.cuh)
  nibble_add_kernel_instance(${target} encode_posits EncodeJob launch_width<PositCoder> encode.cuh)
  nibble_add_kernel_instance(${target} encode_tables EncodeJob launch_tables encode.cuh)
endfunction()
