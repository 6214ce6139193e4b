"""What makes kernels compile sooner, so that a first call does not wait long.

Numba compiles a kernel that another kernel calls twice: to machine code of its
own, which nobody runs, and then once more as part of the kernel that calls it.
Here it is only translated, and optimised as part of its caller. That changes
what Numba does inside, so it is done only in versions in which it was tried. In
others kernels are the same, and take longer to compile.
"""

import gc

from llvmlite import binding
import numba
from numba.core import codegen
from numba.core import compiler

IS_TRIED = numba.version_info.short == (0, 68)


class _PartLibrary(codegen.JITCodeLibrary):
  """Code of one kernel that becomes part of others and is not run itself."""

  def _optimize_final_module(self):
    """Does what is cheap; the rest is done for the caller as a whole."""
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
    """Says where the kernel's Python objects are.

    They are found by name, and all that contains this kernel will look them up.

    Args:
      env_name: the name.
      env: Numba's environment, which holds them.
    """
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
  """Lets kernels that call the dispatcher's kernel get the part instead.

  Args:
    dispatcher: Numba's dispatcher, which Python calls.
    part: dispatcher of the same function, made with `PartCompiler`.
  """
  dispatcher.get_call_template = part.get_call_template
  dispatcher.get_overload = part.get_overload


def collect_later(dispatcher):
  """Lets Python look for garbage after a compilation, but not meanwhile.

  The compiler makes many objects and needs most of them to the end.

  Args:
    dispatcher: Numba's dispatcher.
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
