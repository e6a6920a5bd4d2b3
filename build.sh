.venv/bin/python setup.py -q build_ext --inplace 2>&1 | grep -v -i "unreachable\|setuptools\|^ \|^$\|return '\|!!\|\*\*\*" 
