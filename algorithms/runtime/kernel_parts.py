"""Faster compilation of kernels that other kernels call.

Numba compiles such a kernel twice: to machine code of its own, which nobody
runs, and once more as part of its caller. Here it is only translated to LLVM's
language, and optimised as part of its caller. The quick start of README then
takes 9 s of processor time with an empty kernel cache, instead of about 20.

That changes private parts of Numba. So it is done only in the version in which
it was tried, to which `pyproject.toml` pins Numba. In others, kernels have the
same results and take longer to compile.
"""

import gc

from llvmlite import binding
import numba
from numba.core import codegen
from numba.core import compiler

TRIED = (0, 68)  # Numba 0.68
IS_TRIED = numba.version_info.short == TRIED


class _PartLibrary(codegen.JITCodeLibrary):
  """Code of one kernel that becomes part of others and is not run itself."""

  def _optimize_final_module(self):
    """Runs cheap passes only; the caller is optimised as a whole."""
    passes, builder = self._codegen._module_pass_manager(
        loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap")
    passes.run(self._final_module, builder)

  def _finalize_final_module(self):
    """Makes no machine code."""
    self._finalize_dynamic_globals()
    self._finalized = True

  def get_pointer_to_function(self, name):
    """Returns 0, which stands for no machine code."""
    del name
    self._ensure_finalized()
    return 0

  @property
  def codegen(self):
    """Returns the object whose `set_env` Numba calls."""
    return self

  def set_env(self, env_name, env):
    """Says where the kernel's Python objects are, which callers look up."""
    holder = binding.parse_assembly(f'@"{env_name}" = common global i64 0')
    self._codegen._add_module(holder)
    self._codegen._engine.finalize_object()
    self._codegen.set_env(env_name, env)


class PartCompiler(compiler.Compiler):
  """Compiles a kernel for those that call it."""

  def define_pipelines(self):
    """Returns Numba's own passes; their result goes into a part."""
    self.state.library = _PartLibrary(self.state.targetctx.codegen(),
                                      self.state.func_id.func_qualname)
    return super().define_pipelines()


def call_from_kernels(dispatcher, part):
  """Lets kernels that call the dispatcher's kernel get the part instead."""
  dispatcher.get_call_template = part.get_call_template
  dispatcher.get_overload = part.get_overload


def collect_later(dispatcher):
  """Disables the garbage collector while a kernel compiles.

  The compiler's objects are long-lived, so collections find nothing.
  """
  compile_kernel = dispatcher.compile

  def compile_without_pause(signature):
    if not gc.isenabled():
      return compile_kernel(signature)
    gc.disable()
    try:
      return compile_kernel(signature)
    finally:
      gc.enable()

  dispatcher.compile = compile_without_pause
