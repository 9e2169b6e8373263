"""Names that statements look up on types: each gets a slot of its own in the cache of methods.

They are what the Python cases of the standard suite look up (torch 2.13.0), as
`worker.method_cache.Lookups` sees it. Others share a slot by chance, as one pair in 4,096 does.
"""

NAMES = """
DisableTorchFunctionSubclass FakeScriptObject GradientEdge NestedTensor SymInt Tensor _C
_InferenceMode _RecordFunction _VF _VariableFunctions __add__ __call__ __class__
__class_getitem__ __cuda_array_interface__ __dict__ __dlpack__ __dynamo_disable __enter__ __eq__
__exit__ __get__ __getattr__ __getattribute__ __getitem__ __gt__ __hash__ __iadd__ __imul__
__init__ __instancecheck__ __iter__ __length_hint__ __lt__ __matmul__ __mul__ __name__ __new__
__path__ __rmul__ __rsub__ __self__ __set_name__ __spec__ __sub__ __subclasscheck__
__torch_dispatch__ __torch_function__ __truediv__ _accelerator_getAccelerator
_accelerator_graph_capture_health_check _are_functorch_transforms_active _backward_cls
_backward_hooks _backward_pre_hooks _call_impl _canonical_mask _check_input_dim
_compiled_call_impl _conv_forward _dynamo _execution_engine _flat_weight_refs _flat_weights
_flat_weights_names _forward_cls _forward_hooks _forward_pre_hooks _get_privateuse1_backend_name
_get_user_fn _has_torchbind_op_overload _inference_mode_context _init_group _initializing
_jit_internal _length_ _library _modules _nn _none_or_dtype _op _optimizer_step_code
_optimizer_step_post_hooks _optimizer_step_pre_hooks _python_cu _qkv_same_embed_dim
_record_function_enter_new _record_function_exit _remove_obj_from_tls _stash_obj_in_tls _type_
_uninitialized_submodules _update_flat_weights _weights_have_changed _zero_grad_profile_name
accelerator add add_ add_zero_attn addcdiv_ addcmul_ addmm amax annotate append apply
approximate arange argmax args as_strided as_subclass aten autograd backend backends backward
batch_first batch_norm bernoulli_ bias bias_hh bias_hh_l0 bias_ih bias_ih_l0 bias_k bias_v
bidirectional binary_cross_entropy_with_logits bmm boxed_grads_call broadcast_tensors callback
cat ceil_mode check_forward_args check_hidden_size check_input chunk clamp
clear_saved_tensors_on_access clone compiler contiguous conv1d conv2d copy_ copy_context
cross_entropy_loss cudnn cumsum current_accelerator defaults device dilation dim div dropout
dtype einsum embed_dim embedding empty empty_like enabled end end_dim eps equal exp expand
fake_class_registry flatten float64 forward found_inf gather gelu get get_enum
get_expected_cell_size get_expected_hidden_size get_fastpath_enabled getter grad grad_fn
grad_scale graph_break groups gru hidden_size in_proj_bias in_proj_weight inference_mode inplace
input_size is_compiling is_complex is_contiguous is_exporting is_floating_point is_grad_enabled
is_nested is_scripting is_sparse item jit kernel_size layer_norm lerp_ level linear lstm
lstm_cell max max_norm max_pool2d mean mha mm mode momentum mro mse_loss mul_
multi_head_attention_forward name nn no_grad nonzero norm_type normal_ normalized_shape
num_batches_tracked num_heads num_layers numel obj ones_like ops opt_einsum out_proj padding
padding_idx padding_mode param_groups parent permute_hidden pos_weight preserve_format prev
profiler proj_size push_user_annotation rand randint record record_function reduction relu
requires_grad requires_grad_ reshape return_indices rsub run_backward run_callbacks_on_exit
running_mean running_var save_for_backward saved_tensors scale_grad_by_freq set_grad_enabled
setup_context shape sigmoid size softmax sort sparse split sqrt square stack stance start_dim
state step stride sum tanh tensor to to_save topk track_running_stats training transpose type
unsqueeze unwrap_dead_wrappers utils values vf view vjp weight weight_hh weight_hh_l0 weight_ih
weight_ih_l0 where zero_ zero_grad zeros
""".split()  # noqa: SIM905 - a list would take a line for each
